"""Figures of a model and of what it predicts, drawn by plotly: for notebooks, and for the report.

The map of the module: functions for notebooks (`label_map`, `criteria`, `reliability`, `abstention`, `labels`) compute
and call one of those that draw (`draw_map`, `draw_criteria`, …), which return plain dictionaries as the report embeds
them; the rest is what these share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from clems.arrays import Floats
from clems.costs.cost import Cost
from clems.evaluation.bootstrap import Bootstrap, bootstrap
from clems.evaluation.evaluate import evaluate
from clems.evaluation.label_map import MOST, LabelMap, make_map, shown

# Colours by what they are for; the report has another set of the same names for the dark.
COLOURS = {
    "ink": "#1d2126",
    "muted": "#5d6670",
    "line": "#e2e5e8",
    "quiet": "#98a1ab",
    "accent": "#0072B2",
    "contrast": "#C2560A",
    "paper": "#ffffff",
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
CLEAR = "rgba(0,0,0,0)"
GRID = {"gridcolor": COLOURS["line"], "zeroline": False, "automargin": True}
LONGEST = 64  # characters of a label set in a hover
WRITTEN = 26  # and beside a point
LINE = 34  # pixels from one line of a dot plot to the next
MANY = 30  # labels in a figure

Spec = dict[str, Any]


def label_map(model: Any, *, most: int = MOST) -> Any:
    """Draw the candidates in two dimensions of the embedding, as truths and as predictions.

    What is near is cheap to confuse. The size of a point is the frequency of its label set in training; hovering shows
    the label set and the nearest ones by cost.

    Parameters
    ----------
    model : CLEMS
        A fitted model.
    most : int, default=400
        How many label sets; the most frequent ones are drawn.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    return _figure_of(draw_map(make_map(model, most)))


def criteria(predictions: Mapping[str, Any], Y: Any, criteria: Sequence[str | Cost] | None = None) -> Any:
    """Draw what models reach under criteria, with 95 % bootstrap intervals over the rows.

    Parameters
    ----------
    predictions : mapping of str to array-like or sparse matrix of shape (n, K)
        Predicted labels by name of the model, ``{"CLEMS": model.predict(X), ...}``; the first is set off.
    Y : array-like or sparse matrix of shape (n, K)
        True labels.
    criteria : sequence of str or Cost, default=None
        Names of criteria, or costs; None is all of `CRITERIA`.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    return _figure_of(draw_criteria(bootstrap(predictions, Y, criteria)))


def reliability(model: Any, X: Any, Y: Any) -> Any:
    """Draw realised against expected cost of groups of rows.

    Parameters
    ----------
    model : CLEMS
        A fitted model with `expected_cost`.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Features.
    Y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
        Their labels.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    groups = evaluate(model, X, Y).reliability
    if groups is None:
        raise ValueError(f"{type(model).__name__} does not compute what a single row is expected to cost.")
    return _figure_of(draw_reliability(groups))


def abstention(model: Any, X: Any, Y: Any, *, abstain_at: float | None = None) -> Any:
    """Draw the mean cost per row over the share of rows that are handed over.

    Parameters
    ----------
    model : learner
        A fitted model with `expected_cost`.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Features.
    Y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
        Their labels.
    abstain_at : float, default=None
        What handing a row over costs; None is 0.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    curve = evaluate(model, X, Y, abstain_at=abstain_at).abstention
    if curve is None:
        raise ValueError(f"{type(model).__name__} does not compute what a single row is expected to cost.")
    return _figure_of(draw_abstention(curve))


def labels(model: Any, X: Any, Y: Any, *, most: int = MANY) -> Any:
    """Draw precision and recall of the labels with the most true rows.

    Parameters
    ----------
    model : learner
        A fitted model.
    X : array-like, sparse matrix or DataFrame of shape (n, d)
        Features.
    Y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
        Their labels.
    most : int, default=30
        How many labels.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    return _figure_of(draw_labels(evaluate(model, X, Y).labels, most))


def draw_map(label_map: LabelMap) -> Spec:
    """Describe the figure of a label map: lines for a report to fill, truths, predictions, and names.

    Parameters
    ----------
    found : LabelMap
        Its content.

    Returns
    -------
    dict
        `data` and `layout`, as plotly reads them.
    """
    size = 7 + 21 * np.sqrt(label_map.frequency / max(label_map.frequency.max(initial=0), 1e-300))
    quiet = {"hoverinfo": "skip", "showlegend": False}
    accent, contrast = COLOURS["accent"], COLOURS["contrast"]
    looks = {
        "truth": ("circle", accent, COLOURS["paper"], label_map.truth, _hovers(label_map, "truth")),
        "prediction": ("diamond-open", contrast, contrast, label_map.prediction, _hovers(label_map, "prediction")),
    }
    points = [
        _points(
            at,
            name=f"as the {role}",
            marker={
                "symbol": symbol,
                "size": size.tolist(),
                "color": colour,
                "opacity": 0.7,
                "line": {"color": edge, "width": 1},
            },
            hovertext=hovers,
        )
        for role, (symbol, colour, edge, at, hovers) in looks.items()
    ]
    names = _points(
        label_map.truth,
        mode="markers+text",
        marker={"size": size.tolist(), "opacity": 0},  # which keep names clear of the points themselves
        text=_written(label_map, size),
        textposition="top center",
        textfont={"color": COLOURS["ink"], "size": 11},
        cliponaxis=False,
        **quiet,
    )
    links = {**_points(np.empty((0, 2))), "mode": "lines", "line": {"color": COLOURS["muted"], "width": 1.5}, **quiet}
    bare = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": "", "showline": False}
    return {
        "data": [links, *points, names],  # names come last, so that no point covers one
        "layout": _layout(
            height=580,
            legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "itemsizing": "constant"},
            margin={"l": 8, "r": 8, "t": 36, "b": 8},
            xaxis=bare,
            yaxis={**bare, "scaleanchor": "x"},
        ),
    }


def draw_criteria(comparison: Bootstrap, columns: int = 3, *, titles: bool = True) -> Spec:
    """Describe the figure of a comparison, one panel for each criterion.

    Parameters
    ----------
    comparison : Bootstrap
        What to draw; its first model is set off.
    columns : int, default=3
        Panels side by side, at most.
    titles : bool, default=True
        Whether panels have titles.

    Returns
    -------
    dict
        `data` and `layout`, as plotly reads them.
    """
    n, models = len(comparison.criteria), [escape(name, quote=False) for name in comparison.models]
    columns = max(1, min(columns, n))
    rows = -(-n // columns)
    top, bottom = 34 if titles else 4, 26
    panel = LINE * len(models) + top + bottom
    wide, gap = 1 / columns, 0.05 if columns > 1 else 0
    colours = [COLOURS["accent"], *[COLOURS["quiet"]] * (len(models) - 1)]
    low, high = comparison.low, comparison.high
    data, layout, heads = [], {}, []
    for at, one in enumerate(comparison.criteria):
        number, (row, column) = str(at + 1) if at else "", divmod(at, columns)
        start, floor = column * wide + gap / 2 * (column > 0), 1 - (row + 1) / rows
        reach = [start, (column + 1) * wide - gap / 2 * (column < columns - 1)]
        heights = [floor + bottom / panel / rows, floor + (panel - top) / panel / rows]
        title = escape(one.title, quote=False)
        for name, value, below, above, colour in zip(
            models, comparison.value[:, at], low[:, at], high[:, at], colours, strict=True
        ):
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "x": [float(value)],
                    "y": [name],
                    "xaxis": f"x{number}",
                    "yaxis": f"y{number}",
                    "marker": {"color": colour, "size": 10},
                    "error_x": {
                        "array": [float(above - value)],
                        "arrayminus": [float(value - below)],
                        "color": colour,
                        "thickness": 2,
                        "width": 0,
                    },
                    "hovertext": [f"<b>{name}</b><br>{title} {value:.3f}<br>95 % interval {below:.3f} to {above:.3f}"],
                    "hoverinfo": "text",
                    "showlegend": False,
                }
            )
        layout[f"xaxis{number}"] = {"domain": reach, "anchor": f"y{number}", "nticks": 5, **GRID}
        layout[f"yaxis{number}"] = {
            "domain": heights,
            "anchor": f"x{number}",
            "type": "category",
            "categoryorder": "array",
            "categoryarray": models[::-1],
            "range": [-0.6, len(models) - 0.4],
            "showgrid": False,
            "ticks": "",
            "automargin": True,
            "showticklabels": column == 0,
        }
        heads.append(
            {
                "text": f"<b>{title}</b> {one.arrow}",
                "xref": "paper",
                "yref": "paper",
                "x": reach[0],
                "y": heights[1],
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 14, "color": COLOURS["ink"]},
            }
        )
    margin = {"l": 8, "r": 16, "t": 0, "b": 0}
    shown_heads = heads if titles else []
    return {"data": data, "layout": _layout(height=panel * rows, margin=margin, annotations=shown_heads, **layout)}


def draw_reliability(reliability: pd.DataFrame) -> Spec:
    """Describe the figure of expected and realised cost; points on the line say that the model knows what it will cost.

    Parameters
    ----------
    reliability : DataFrame
        Columns expected, realised and rows, a line for each group of rows.

    Returns
    -------
    dict
        `data` and `layout`, as plotly reads them.
    """
    expected, realised, rows = (reliability[name].to_numpy(np.float64) for name in ("expected", "realised", "rows"))
    end = float(max(expected.max(initial=0), realised.max(initial=0)) * 1.08) or 1.0
    line = {
        **_points(np.array([[0, 0], [end, end]])),
        "mode": "lines",
        "line": {"color": COLOURS["quiet"], "width": 1},
        "hoverinfo": "skip",
    }
    groups = _points(
        np.column_stack([expected, realised]),
        marker={
            "color": COLOURS["accent"],
            "size": (8 + 6 * np.sqrt(rows / rows.max(initial=1))).tolist(),
            "opacity": 0.85,
        },
        hovertext=[
            f"{int(n):,} rows<br>expected {e:.3f}<br>realised {r:.3f}"
            for e, r, n in zip(expected, realised, rows, strict=True)
        ],
    )
    axis = {"range": [0, end], "nticks": 6, **GRID}
    return {
        "data": [line, groups],
        "layout": _layout(
            height=400,
            showlegend=False,
            margin={"l": 8, "r": 12, "t": 8, "b": 8},
            xaxis={"title": {"text": "expected cost"}, **axis},
            yaxis={"title": {"text": "realised cost"}, **axis},
        ),
    }


def draw_abstention(curve: pd.DataFrame, unit: str = "") -> Spec:
    """Describe the figure of the mean cost per row over the share of rows handed over, between chance and the best.

    Parameters
    ----------
    curve : DataFrame
        What :func:`clems.evaluation.abstention_curve` returns.
    unit : str, default=""
        What costs are counted in.

    Returns
    -------
    dict
        `data` and `layout`, as plotly reads them.
    """
    looks = {
        "random": ("rows at random", {"color": COLOURS["quiet"], "width": 1.5}),
        "perfect": ("the dearest rows, if one knew them", {"color": COLOURS["quiet"], "width": 1.5, "dash": "dot"}),
        "cost": ("rows of the greatest expected cost", {"color": COLOURS["accent"], "width": 2.5}),
    }
    lines = [
        {
            **_points(np.column_stack([100 * curve["share"], curve[column]])),
            "mode": "lines+markers" if column == "cost" else "lines",
            "name": name,
            "line": line,
            "marker": {"color": line["color"], "size": 6},
            "hovertext": [
                f"<b>{share:.0%} handed over</b><br>{name}<br>cost per row {value:.3f}"
                for share, value in zip(curve["share"], curve[column], strict=True)
            ],
        }
        for column, (name, line) in looks.items()
    ]
    highest = float(curve[["cost", "random"]].to_numpy().max() * 1.06) or 1.0
    title = f"mean cost per row{f', {unit}' if unit else ''}"
    return {
        "data": lines,
        "layout": _layout(
            height=400,
            legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "reversed"},
            margin={"l": 8, "r": 24, "t": 8, "b": 8},
            xaxis={
                "title": {"text": "rows handed over"},
                "range": [-1, 101],
                "tickvals": [0, 20, 40, 60, 80, 100],
                "ticksuffix": " %",
                **GRID,
            },
            yaxis={"title": {"text": escape(title, quote=False)}, "range": [0, highest], "nticks": 6, **GRID},
        ),
    }


def draw_labels(labels: pd.DataFrame, most: int = MANY) -> Spec:
    """Describe the figure of precision and recall of the labels with the most true rows.

    Parameters
    ----------
    labels : DataFrame
        Indexed by label, with columns support, predicted, precision and recall.
    most : int, default=30
        How many labels.

    Returns
    -------
    dict
        `data` and `layout`, as plotly reads them.
    """
    part = labels.sort_values("support", ascending=False, kind="stable").head(most)
    position = np.arange(len(part))
    joined = [[x, at] for at, both in enumerate(part[["precision", "recall"]].to_numpy()) for x in (*both, np.nan)]
    lines = {
        **_points(np.array(joined).reshape(-1, 2)),
        "mode": "lines",
        "line": {"color": COLOURS["quiet"], "width": 2},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    looks = {
        "precision": ("predicted", "predicted", "circle", COLOURS["accent"]),
        "recall": ("support", "true", "diamond-open", COLOURS["contrast"]),
    }
    points = [
        _points(
            np.column_stack([part[name], position]),
            name=name,
            marker={"symbol": symbol, "color": colour, "size": 10, "line": {"width": 2, "color": colour}},
            hovertext=[
                f"<b>{escape(str(label), quote=False)}</b><br>{name} {value:.3f}, of {int(n):,} {kind}"
                for label, value, n in zip(part.index, part[name], part[of], strict=True)
            ],
        )
        for name, (of, kind, symbol, colour) in looks.items()
    ]
    return {
        "data": [lines, *points],
        "layout": _layout(
            height=26 * len(part) + 90,
            legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
            margin={"l": 8, "r": 12, "t": 36, "b": 28},
            xaxis={"range": [-0.02, 1.02], "nticks": 6, **GRID},
            yaxis={
                "tickvals": position.tolist(),
                "ticktext": [escape(shown([str(name)], WRITTEN), quote=False) for name in part.index],
                "range": [len(part) - 0.4, -0.6],
                "automargin": True,
                "showgrid": False,
                "zeroline": False,
            },
        ),
    }


def _points(at: Floats, **settings: Any) -> Spec:
    """Describe points with a hover text; what is not known is left out."""
    x, y = ([None if value != value else value for value in axis] for axis in at.T.tolist())
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, "hoverinfo": "text", **settings}


def _hovers(label_map: LabelMap, role: str) -> list[str]:
    """Text of each point's hover; plotly reads a little HTML in it, so names are escaped."""
    near, others = (label_map.predictions, "predictions") if role == "truth" else (label_map.truths, "truths")
    names = [escape(shown(one, LONGEST), quote=False) for one in label_map.sets]
    return [
        "<br>".join(
            [
                f"<b>{name}</b>",
                f"as the {role}; {count:,g} of {label_map.total:,g} training rows",
                f"nearest {others} by cost:",
                *(f"{cost:.3g}  {names[other]}" for other, cost in zip(places, costs, strict=True)),
            ]
        )
        for name, count, places, costs in zip(names, label_map.frequency, near.index, near.cost, strict=True)
    ]


def _written(label_map: LabelMap, size: Floats, width: float = 780, height: float = 480) -> list[str]:
    """Names to write beside points, those of the most frequent first, as far as they do not cover each other."""
    span = np.ptp(np.concatenate([label_map.truth, label_map.prediction]), axis=0)
    scale = min(width / max(span[0], 1e-12), height / max(span[1], 1e-12))
    texts, boxes = [], np.empty((0, 4))
    for (x, y), names, across in zip(label_map.truth * scale, label_map.sets, size, strict=True):
        text = shown(names, WRITTEN)
        half = 3.2 * len(text) + 4
        box = np.array([x - half, y - across / 2, x + half, y + across / 2 + 15])
        free = not _overlaps(box, boxes)
        boxes = np.vstack([boxes, box]) if free else boxes
        texts.append(escape(text, quote=False) if free else "")
    return texts


def _overlaps(box: Floats, boxes: Floats) -> bool:
    beside = (boxes[:, 2] < box[0]) | (boxes[:, 0] > box[2]) | (boxes[:, 3] < box[1]) | (boxes[:, 1] > box[3])
    return bool((~beside).any())


def _layout(**settings: Any) -> Spec:
    """Layout with the look of all figures."""
    return {
        "font": {"family": FONT, "size": 13, "color": COLOURS["muted"]},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "hovermode": "closest",
        "hoverlabel": {
            "align": "left",
            "bgcolor": COLOURS["paper"],
            "bordercolor": COLOURS["line"],
            "font": {"family": FONT, "size": 13, "color": COLOURS["ink"]},
        },
        **settings,
    }


def _figure_of(spec: Spec) -> Any:
    """Figure for a notebook."""
    try:
        from plotly.graph_objects import Figure
    except ImportError:
        raise ImportError("Figures of models need plotly: pip install 'clems[report]'.") from None
    return Figure(spec).update_layout(template="none", paper_bgcolor=COLOURS["paper"])
