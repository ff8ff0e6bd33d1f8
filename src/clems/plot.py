"""Figures of a model and of what it predicts, drawn by plotly: for notebooks, and for the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from clems.comparison import Comparison, compare
from clems.cost import Cost
from clems.counts import Floats
from clems.label_map import MOST, LabelMap, Neighbours, make_map, shown

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
LONGEST = 64  # characters of a label set in a hover
WRITTEN = 26  # and beside a point
LINE = 34  # pixels from one line of a dot plot to the next
MANY = 30  # labels in a figure


def label_map(model: Any, *, most: int = MOST) -> Any:
    """Draw the candidates in two dimensions of the embedding, as truths and as predictions.

    What is near is cheap to confuse. The size of a point is the frequency of its label set in training; hovering tells
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
    return draw_map(make_map(model, most))


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
    return draw_criteria(compare(predictions, Y, criteria))


def draw_map(found: LabelMap) -> Any:
    """Draw a label map: a trace of lines for a report to fill, one of truths, one of predictions, one of names.

    Parameters
    ----------
    found : LabelMap
        Its content.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    go = _plotly()
    size = 7 + 21 * np.sqrt(found.frequency / max(found.frequency.max(initial=0), 1e-300))
    look = {
        "truth": ("circle", COLOURS["accent"], found.truth, found.predictions, "predictions"),
        "prediction": ("diamond-open", COLOURS["contrast"], found.prediction, found.truths, "truths"),
    }
    figure = _figure(height=580, hovermode="closest")
    quiet = {"hoverinfo": "skip", "showlegend": False}
    figure.add_trace(go.Scatter(x=[], y=[], mode="lines", line={"color": COLOURS["muted"], "width": 1.5}, **quiet))
    for role, (symbol, colour, points, near, others) in look.items():
        figure.add_trace(
            go.Scatter(
                name=f"as the {role}",
                x=points[:, 0].tolist(),
                y=points[:, 1].tolist(),
                mode="markers",
                marker={
                    "symbol": symbol,
                    "size": size.tolist(),
                    "color": colour,
                    "opacity": 0.7,
                    "line": {"color": COLOURS["paper"] if role == "truth" else colour, "width": 1},
                },
                hovertext=_hovers(found, role, near, others),
                hoverinfo="text",
            )
        )
    figure.add_trace(  # the last one, so that no point covers a name
        go.Scatter(
            x=found.truth[:, 0].tolist(),
            y=found.truth[:, 1].tolist(),
            mode="markers+text",
            marker={"size": size.tolist(), "opacity": 0},  # which keep names clear of the points themselves
            text=_written(found, size),
            textposition="top center",
            textfont={"color": COLOURS["ink"], "size": 11},
            cliponaxis=False,
            **quiet,
        )
    )
    figure.update_layout(
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "itemsizing": "constant"},
        margin={"l": 8, "r": 8, "t": 36, "b": 8},
    )
    bare = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": ""}
    figure.update_xaxes(**bare)
    figure.update_yaxes(**bare, scaleanchor="x")
    return figure


def draw_criteria(comparison: Comparison, columns: int = 3) -> Any:
    """Draw a comparison, one panel for each criterion.

    Parameters
    ----------
    comparison : Comparison
        What to draw; its first model is set off.
    columns : int, default=3
        Panels side by side, at most.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    go = _plotly()
    from plotly.subplots import make_subplots

    n, models = len(comparison.criteria), [escape(name, quote=False) for name in comparison.models]
    columns = max(1, min(columns, n))
    rows = -(-n // columns)
    titles = [f"<b>{escape(one.title, quote=False)}</b> {one.arrow}" for one in comparison.criteria]
    panel = LINE * len(models) + 70
    figure = make_subplots(
        rows, columns, subplot_titles=titles, shared_yaxes=True, vertical_spacing=min(0.5 / rows, 66 / (panel * rows))
    )
    low, high = comparison.low, comparison.high
    colours = [COLOURS["accent"], *[COLOURS["quiet"]] * (len(models) - 1)]
    for at, one in enumerate(comparison.criteria):
        value = comparison.value[:, at]
        said = [
            f"<b>{name}</b><br>{escape(one.title, quote=False)} {v:.3f}<br>95 % interval {a:.3f} to {b:.3f}"
            for name, v, a, b in zip(models, value, low[:, at], high[:, at], strict=True)
        ]
        for place, colour in enumerate(colours):
            figure.add_trace(
                go.Scatter(
                    x=[float(value[place])],
                    y=[models[place]],
                    mode="markers",
                    marker={"color": colour, "size": 10},
                    error_x={
                        "array": [float(high[place, at] - value[place])],
                        "arrayminus": [float(value[place] - low[place, at])],
                        "color": colour,
                        "thickness": 2,
                        "width": 0,
                    },
                    hovertext=[said[place]],
                    hoverinfo="text",
                    showlegend=False,
                ),
                at // columns + 1,
                at % columns + 1,
            )
    _dress(figure, height=panel * rows, margin={"l": 8, "r": 16, "t": 34, "b": 28})
    # What a plain range would hide: whether differences are small beside the values themselves.
    figure.update_xaxes(nticks=5, automargin=True, showgrid=True, gridcolor=COLOURS["line"], zeroline=False)
    figure.update_yaxes(
        type="category", categoryorder="array", categoryarray=models[::-1], automargin=True, showgrid=False, ticks=""
    )
    figure.update_yaxes(range=[-0.6, len(models) - 0.4])
    for title in figure.layout.annotations:
        title.update(x=figure.layout[_axis_of(title, figure)].domain[0], xanchor="left", font={"size": 14})
    return figure


def draw_reliability(reliability: pd.DataFrame) -> Any:
    """Draw realised against expected cost; points on the line say that the model knows what it will cost.

    Parameters
    ----------
    reliability : DataFrame
        Columns expected, realised and rows, a line for each group of rows.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    go = _plotly()
    expected, realised, rows = (reliability[name].to_numpy(np.float64) for name in ("expected", "realised", "rows"))
    end = float(max(expected.max(initial=0), realised.max(initial=0)) * 1.08) or 1.0
    figure = _figure(height=400, hovermode="closest", showlegend=False)
    figure.add_trace(
        go.Scatter(x=[0, end], y=[0, end], mode="lines", line={"color": COLOURS["quiet"], "width": 1}, hoverinfo="skip")
    )
    figure.add_trace(
        go.Scatter(
            x=expected.tolist(),
            y=realised.tolist(),
            mode="markers",
            marker={
                "color": COLOURS["accent"],
                "size": (8 + 8 * np.sqrt(rows / rows.max(initial=1))).tolist(),
                "opacity": 0.85,
            },
            hovertext=[
                f"{int(n):,} rows<br>expected {e:.3f}<br>realised {r:.3f}"
                for e, r, n in zip(expected, realised, rows, strict=True)
            ],
            hoverinfo="text",
        )
    )
    figure.update_layout(margin={"l": 8, "r": 12, "t": 8, "b": 8})
    grid = {"range": [0, end], "gridcolor": COLOURS["line"], "zeroline": False, "nticks": 6, "automargin": True}
    figure.update_xaxes(title="expected cost", **grid)
    figure.update_yaxes(title="realised cost", **grid)
    return figure


def draw_labels(labels: pd.DataFrame, most: int = MANY) -> Any:
    """Draw precision and recall of the labels with the most true rows.

    Parameters
    ----------
    labels : DataFrame
        Indexed by label, with columns support, predicted, precision and recall.
    most : int, default=30
        How many labels.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    go = _plotly()
    part = labels.sort_values("support", ascending=False, kind="stable").head(most)
    full = [escape(str(name), quote=False) for name in part.index]
    place = [*range(len(part))]
    figure = _figure(height=26 * len(part) + 90, hovermode="closest")
    join: list[list[Any]] = [[], []]
    for at, (precision, recall) in enumerate(zip(part["precision"], part["recall"], strict=True)):
        join[0] += [precision, recall, None]
        join[1] += [at, at, None]
    join[0] = [None if pd.isna(x) else x for x in join[0]]
    figure.add_trace(
        go.Scatter(
            x=join[0],
            y=join[1],
            mode="lines",
            line={"color": COLOURS["quiet"], "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    looks = {"precision": ("circle", COLOURS["accent"]), "recall": ("diamond-open", COLOURS["contrast"])}
    for name, (symbol, colour) in looks.items():
        out_of, kind = (part["predicted"], "predicted") if name == "precision" else (part["support"], "true")
        figure.add_trace(
            go.Scatter(
                name=name,
                x=[None if pd.isna(value) else float(value) for value in part[name]],
                y=place,
                mode="markers",
                marker={"symbol": symbol, "color": colour, "size": 10, "line": {"width": 2, "color": colour}},
                hovertext=[
                    f"<b>{label}</b><br>{name} {value:.3f}, of {int(n):,} {kind}"
                    for label, value, n in zip(full, part[name], out_of, strict=True)
                ],
                hoverinfo="text",
            )
        )
    short = [escape(shown([str(name)], WRITTEN), quote=False) for name in part.index]
    figure.update_layout(
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}, margin={"l": 8, "r": 12, "t": 36, "b": 28}
    )
    figure.update_xaxes(range=[-0.02, 1.02], nticks=6, gridcolor=COLOURS["line"], zeroline=False)
    figure.update_yaxes(
        tickvals=place, ticktext=short, range=[len(part) - 0.4, -0.6], automargin=True, showgrid=False, zeroline=False
    )
    return figure


def _hovers(found: LabelMap, role: str, near: Neighbours, others: str) -> list[str]:
    """Text of each point's hover; plotly reads a little HTML in it, so names are escaped."""
    names = [escape(shown(one, LONGEST), quote=False) for one in found.sets]
    return [
        "<br>".join(
            [
                f"<b>{name}</b>",
                f"as the {role}; {count:,g} of {found.total:,g} training rows",
                f"nearest {others} by cost:",
                *(f"{cost:.3g}  {names[other]}" for other, cost in zip(places, costs, strict=True)),
            ]
        )
        for name, count, places, costs in zip(names, found.frequency, near.place, near.cost, strict=True)
    ]


def _written(found: LabelMap, size: Floats, width: float = 780, height: float = 480) -> list[str]:
    """Names to write beside points, those of the most frequent first, as far as they do not cover each other."""
    span = np.ptp(np.concatenate([found.truth, found.prediction]), axis=0)
    scale = min(width / max(span[0], 1e-12), height / max(span[1], 1e-12))
    texts, boxes = [], np.empty((0, 4))
    for (x, y), names, across in zip(found.truth * scale, found.sets, size, strict=True):
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


def _axis_of(title: Any, figure: Any) -> str:
    """Name of the horizontal axis that a panel's title stands over."""
    number = [*figure.layout.annotations].index(title) + 1
    return "xaxis" if number == 1 else f"xaxis{number}"


def _figure(**layout: Any) -> Any:
    return _dress(_plotly().Figure(), **layout)


def _dress(figure: Any, **layout: Any) -> Any:
    """Give a figure the look of all of them."""
    return figure.update_layout(
        template="none",
        font={"family": FONT, "size": 13, "color": COLOURS["muted"]},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={
            "align": "left",
            "bgcolor": COLOURS["paper"],
            "bordercolor": COLOURS["line"],
            "font": {"family": FONT, "size": 13, "color": COLOURS["ink"]},
        },
        **layout,
    )


def _plotly() -> Any:
    try:
        import plotly.graph_objects as go
    except ImportError:
        raise ImportError("These figures need plotly: pip install 'clems[report]'.") from None
    return go
