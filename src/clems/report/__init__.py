"""The report on a fitted model: one HTML file that needs no network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from clems import __version__
from clems.bootstrap import Bootstrap
from clems.classifier import MultiLabelClassifier
from clems.datasets.writing import replacing
from clems.label_map import LabelMap
from clems.plot import COLOURS, FONT, draw_criteria, draw_labels, draw_map, draw_reliability
from clems.report.content import Content, labels_of, make_content

DARK = {
    "ink": "#e9ebee",
    "muted": "#a3acb6",
    "line": "#2d333a",
    "quiet": "#6d7781",
    "accent": "#5fb3ee",
    "contrast": "#f0955a",
    "paper": "#15181c",
}
MOST_LABELS = 300  # lines of the table of labels
MOST_SETS = 20  # lines of the table beside the map

__all__ = ["make_content", "render", "write_report"]


def write_report(
    model: MultiLabelClassifier,
    X: Any,
    Y: Any,
    output: str | os.PathLike[str],
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    images: Sequence[Any] | None = None,
    n_mistakes: int = 20,
) -> Path:
    """Write a report on what a fitted model does on test rows, one HTML file.

    Parameters
    ----------
    model : learner
        Any fitted learner; CLEMS has the most to tell.
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

    Returns
    -------
    Path
        The file.
    """
    if not isinstance(model, MultiLabelClassifier):
        raise TypeError(f"A report needs a learner of clems; got {type(model).__name__}.")
    check_is_fitted(model)
    _jinja(), _plotly()  # before the work
    content = make_content(model, X, Y, feature_names=feature_names, images=images, n_mistakes=n_mistakes)
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
    return str(
        _jinja()
        .get_template("report.html.j2")
        .render(
            c=content,
            title=title or f"{content.learner} for {content.own.title}",
            panels=[(f"criterion-{at}", one) for at, one in enumerate(content.comparison.criteria)],
            labels=labels_of(content.evaluation, MOST_LABELS),
            sets=min(MOST_SETS, 0 if content.map is None else len(content.map.sets)),
            figures=figures_of(content),
            map=None if content.map is None else map_data(content.map),
            colours=COLOURS,
            dark=DARK,
            font=FONT,
            plotly=_plotly(),
            version=__version__,
        )
    )


def figures_of(content: Content) -> dict[str, Any]:
    """Figures of a report by the place where they stand."""
    comparison = content.comparison
    each = enumerate(comparison.criteria)
    figures = {f"criterion-{at}": draw_criteria(_only(comparison, at), titles=False) for at, _ in each}
    if content.map is not None:
        figures["label-map"] = draw_map(content.map)
    if content.evaluation.reliability is not None:
        figures["reliability"] = draw_reliability(content.evaluation.reliability)
    figures["labels-figure"] = draw_labels(content.evaluation.labels)
    return figures


def map_data(found: LabelMap) -> dict[str, Any]:
    """Return what the page needs to filter the map and to draw lines to what is near."""
    return {
        "sets": found.sets,
        "near": {"truth": found.predictions.place.tolist(), "prediction": found.truths.place.tolist()},
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
        loader=PackageLoader("clems.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": _number, "share": lambda value: f"{value:.1%}"}
    return environment


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None or value != value else f"{value:,.{digits}f}"


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("A report needs plotly: pip install 'clems[report]'.") from None
    return str(get_plotlyjs())
