"""The report on a fitted model: one HTML file that needs no network."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from clems import __version__
from clems.evaluation.bootstrap import Bootstrap
from clems.evaluation.label_map import LabelMap
from clems.evaluation.plot import COLOURS, FONT, draw_abstention, draw_criteria, draw_labels, draw_map, draw_reliability
from clems.evaluation.report.content import Content, labels_of, make_content
from clems.evaluation.savings import amount
from clems.files import replacing
from clems.learners.pipeline import learner_of, reach

DARK = {
    "ink": "#e9ebee",
    "muted": "#a3acb6",
    "line": "#2d333a",
    "quiet": "#6d7781",
    "accent": "#5fb3ee",
    "contrast": "#f0955a",
    "paper": "#15181c",
}
UNWANTED = re.compile(
    r'getElementById\("([0-9a-f]{64})"\)'
)  # styles that plotly.js adds, unless they are there: of maps
MOST_LABELS = 300  # lines of the table of labels
MOST_SETS = 20  # lines of the table beside the map

__all__ = ["make_content", "render", "write_report"]


def write_report(
    model: Any,
    X: Any,
    Y: Any,
    output: str | os.PathLike[str],
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    images: Sequence[Any] | None = None,
    n_mistakes: int = 20,
    unit: str = "",
    abstain_at: float | None = None,
) -> Path:
    """Write a report on what a fitted model does on test rows, one HTML file.

    Parameters
    ----------
    model : learner or Pipeline
        Any fitted learner, or scikit-learn's Pipeline that ends in one; CLEMS has the most to show.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Features of rows that the model was not trained on.
    Y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
        Their labels.
    output : str or path
        The file, which is written whole or not at all.
    title : str, default=None
        Heading; by default the learner and its cost.
    feature_names : sequence of str, default=None
        Names of the features, by default those of the data or the model.
    images : sequence, default=None
        A picture for each row: an array of shape (h, w) or (h, w, 3), or a string that begins with ``data:image/``.
    n_mistakes : int, default=20
        How many of the most expensive mistakes are shown.
    unit : str, default=""
        What costs are counted in, such as "€".
    abstain_at : float, default=None
        What handing a row over costs, in the same unit; None is 0.

    Returns
    -------
    Path
        The file.
    """
    learner_of(model, "A report")
    _jinja(), _plotly()  # before the work
    learner, X, names = reach(model, X, "A report")
    content = make_content(
        learner,
        X,
        Y,
        feature_names=names if feature_names is None else feature_names,
        images=images,
        n_mistakes=n_mistakes,
        unit=unit,
        abstain_at=abstain_at,
    )
    path = Path(output)
    text = render(content, title)
    with replacing(path) as file:
        file.write(text.encode())
    return path


def render(content: Content, title: str | None = None) -> str:
    """Return the HTML of a report.

    Parameters
    ----------
    content : Content
        What it says.
    title : str, default=None
        Heading; by default the learner and its cost.
    """
    pages = _jinja()
    style = _lines(pages.get_template("report.css.j2").render(colours=COLOURS, dark=DARK, font=FONT))
    scripts = [_lines(_plotly()), _lines(files("clems.evaluation.report").joinpath("report.js").read_text("utf-8"))]
    return str(
        pages.get_template("report.html.j2").render(
            c=content,
            title=title or f"{content.learner} for {content.own.title}",
            panels=[(f"criterion-{at}", one) for at, one in enumerate(content.comparison.criteria)],
            labels=labels_of(content.evaluation, MOST_LABELS),
            sets=min(MOST_SETS, 0 if content.map is None else len(content.map.sets)),
            figures=figures_of(content),
            map=None if content.map is None else map_data(content.map),
            colours=COLOURS,
            style=style,
            scripts=scripts,
            taken=UNWANTED.findall(scripts[0]),
            policy=policy_of([style, ""], scripts),  # plotly.js adds a style that is empty, and fills it later
            version=__version__,
        )
    )


def policy_of(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """Return the content security policy of a page: these styles and scripts, pictures in the page, and nothing else.

    Parameters
    ----------
    styles, scripts : sequence of str
        What stands between the tags, letter by letter.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            "style-src 'unsafe-inline'",  # for browsers that do not know the next two
            f"style-src-elem {' '.join(map(_hash, styles))}",
            "style-src-attr 'unsafe-inline'",  # plotly.js writes them
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _lines(text: str) -> str:
    """Text as browsers see it, who know one kind of line ending."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def figures_of(content: Content) -> dict[str, Any]:
    """Figures of a report by the place where they stand."""
    comparison = content.comparison
    each = enumerate(comparison.criteria)
    figures = {f"criterion-{at}": draw_criteria(_only(comparison, at), titles=False) for at, _ in each}
    if content.map is not None:
        figures["label-map"] = draw_map(content.map)
    if content.evaluation.reliability is not None:
        figures["reliability"] = draw_reliability(content.evaluation.reliability)
    if content.evaluation.abstention is not None:
        figures["abstention"] = draw_abstention(content.evaluation.abstention, content.unit)
    figures["labels-figure"] = draw_labels(content.evaluation.labels)
    return figures


def map_data(found: LabelMap) -> dict[str, Any]:
    """Return what the page needs to filter the map and to draw lines to what is near."""
    return {
        "sets": found.sets,
        "near": {"truth": found.predictions.index.tolist(), "prediction": found.truths.index.tolist()},
    }


def _only(comparison: Bootstrap, at: int) -> Bootstrap:
    """Keep one criterion."""
    one = slice(at, at + 1)
    return Bootstrap(
        comparison.models, comparison.criteria[one], comparison.value[:, one], comparison.resampled[:, :, one]
    )


def _jinja() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("A report needs Jinja: pip install 'clems[report]'.") from None
    environment = Environment(
        loader=PackageLoader("clems.evaluation.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "share": lambda value: f"{value:.1%}", "amount": amount}
    return environment


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None or value != value else f"{value:,.{digits}f}"


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("A report needs plotly: pip install 'clems[report]'.") from None
    return str(get_plotlyjs())
