"""The report on a fitted model: one HTML file that needs no network."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from clems import __version__
from clems.evaluation.bootstrap import Bootstrap
from clems.evaluation.figure import COLOURS, FONT, MARGINS, STYLE, Figure
from clems.evaluation.label_map import LabelMap
from clems.evaluation.plot import (
    draw_abstention,
    draw_criteria,
    draw_map,
    draw_reliability,
    draw_shares,
    draw_strip,
)
from clems.evaluation.report.content import Content, labels_of, make_content
from clems.evaluation.report.live import PRESETS, Live, live_data
from clems.evaluation.report.rows import shown_columns
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
MOST_LABELS = 200  # lines of the table of labels
MOST_SETS = 20  # lines of the table beside the map
FEW_SETS = 8  # label sets below which there is nothing to see on a map
FEW_PLACES = 12  # and places below which there is little
SCRIPTS = ("decisions.js", "live.js", "map.js", "report.js")

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
    show: Any = None,
) -> Path:
    """Write a report on a fitted model and test rows, as one HTML file.

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
    show : str, sequence of str or DataFrame, default=None
        What tells people which row it is: names of columns of X, a DataFrame; or a DataFrame of n rows, whose index
        names them. By default the columns that the pipeline's `TableEncoder` took for text. Rows of a DataFrame are
        called by its index.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems.evaluation.report import write_report
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> write_report(model, X[150:], Y[150:], "report.html", title="Which digits are there?").name
    'report.html'
    """
    learner_of(model, "A report")
    _jinja()  # before the work
    columns = shown_columns(model, X, show, X.shape[0] if hasattr(X, "shape") else len(X))
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
        columns=columns,
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

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems.evaluation.report import make_content, render
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> html = render(make_content(model, X[150:], Y[150:]), title="Which digits are there?")
    >>> "Which digits are there?" in html
    True
    """
    pages = _jinja()
    style = _lines(
        pages.get_template("report.css.j2").render(
            colours=COLOURS, dark=DARK, font=FONT, margins=MARGINS, figures=STYLE
        )
    )
    home = files("clems.evaluation.report")
    scripts = [_lines(home.joinpath(name).read_text("utf-8")) for name in SCRIPTS]
    is_live = isinstance(content.live, Live)
    n_sets = 0 if content.map is None else len(content.map.sets)
    return str(
        pages.get_template("report.html.j2").render(
            c=content,
            title=title or f"{content.learner} for {content.own.title}",
            panels=[
                (one, draw_criteria(_only(content.comparison, at), titles=False))
                for at, one in enumerate(content.comparison.criteria)
            ],
            labels=labels_of(content.evaluation, MOST_LABELS),
            strip=draw_strip,
            sets=min(MOST_SETS, n_sets),
            few_sets=n_sets < FEW_SETS,
            few_places=content.map is not None and content.map.n_places < FEW_PLACES,
            figures=figures_of(content),
            presets={"prices": "prices", **PRESETS},
            is_live=is_live,
            data={
                "live": live_data(content.live, content.unit) if isinstance(content.live, Live) else None,
                "map": None if content.map is None else map_data(content.map),
            },
            style=style,
            scripts=scripts,
            policy=policy_of([style], scripts),
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
            f"style-src {' '.join(map(_hash, styles))}",
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


def figures_of(content: Content) -> dict[str, Figure]:
    """Figures of a report by the place where they stand."""
    evaluation = content.evaluation
    figures = {}
    if content.map is not None:
        figures["map"] = draw_map(content.map, bare=True)
    if content.sources is not None:
        figures["sources"] = draw_shares(content.sources.shares)
    if evaluation.reliability is not None:
        figures["reliability"] = draw_reliability(evaluation.reliability)
    if evaluation.abstention is not None:
        figures["abstention"] = draw_abstention(evaluation.abstention, content.unit)
    return figures


def map_data(found: LabelMap) -> dict[str, Any]:
    """Return what the page needs to lay the map out, to filter it and to draw lines to what is near."""
    names = sorted({name for names in found.sets for name in names})
    number = {name: place for place, name in enumerate(names)}
    both = {"truth": (found.truth, found.predictions), "prediction": (found.prediction, found.truths)}
    return {
        "labels": names,
        "sets": [[number[name] for name in one] for one in found.sets],
        "frequency": found.frequency.tolist(),
        "total": found.total,
        **{role: at.round(4).tolist() for role, (at, _) in both.items()},
        "near": {role: near.index.tolist() for role, (_, near) in both.items()},
        "cost": {role: [[f"{cost:.3g}" for cost in line] for line in near.cost] for role, (_, near) in both.items()},
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
    environment.filters |= {"number": _number, "share": lambda value: f"{value:.1%}", "amount": amount, "price": _price}
    return environment


def _price(value: float) -> str:
    """Write a number so that it is read back as it was."""
    return repr(float(value)).removesuffix(".0")


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None or value != value else f"{value:,.{digits}f}"
