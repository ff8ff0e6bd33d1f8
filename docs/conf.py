"""How the site is built: `make docs`."""

import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "extensions"), str(Path(__file__).parents[1])]

import clems

project = "clems"
author = "The clems developers"
copyright = author
version = release = clems.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_sitemap",
    # ours, in docs/extensions
    "api_pages",
    "live_report",
    "llms_txt",
    "mathml",
    "outside_pages",
    "social_card",
]
root_doc = "index"
exclude_patterns = ["extensions", "gallery/sg_execution_times.rst", "**/README.*"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # the gallery's settings hold functions
nitpicky = True  # every reference has to be found ...
nitpick_ignore_regex = [
    ("py:(class|obj|data|attr)", ".*"),  # ... but types in signatures, which are words,
    ("py:(func|mod)", r"clems\.(embedding|posterior|trees)\..*"),  # and what is not public
]

# Markdown
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

# Docstrings
autosummary_generate = True
autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
html_math_renderer = "mathml"

# Examples: every plot_*.py is run, and one that fails fails the build.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "plot_gallery": os.environ.get("CLEMS_GALLERY", "True"),
}

# The site. Its address, which only the sitemap and cards of links need, is given when it is published.
html_baseurl = os.environ.get("CLEMS_SITE", "http://localhost:8000/")
sitemap_url_scheme = "{link}"
sitemap_show_lastmod = False
html_title = "clems"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).parent / "scorer.js")
html_favicon = "_static/icon.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = True
html_theme_options = {
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo-dark.svg", "alt_text": "clems, home"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "search_bar_text": "Search",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "install": [], "start": [], "faq": [], "cite": [], "made/CHANGELOG": []}
html_sidebars |= {f"made/{folder}/**": [] for folder in ("results", "benchmarks", "attack")}  # wide tables
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .go, .gp"


def setup(app):
    """Take pages of examples that are no longer there out of the gallery."""
    for page in Path(__file__).parent.glob("gallery/plot_*.rst"):
        if not Path(__file__).parents[1].joinpath("examples", f"{page.stem}.py").exists():
            for made in page.parent.glob(f"{page.stem}.*"):
                made.unlink()
