"""Figures of a model and of what it predicts, for notebooks and for the report.

The map of the module: functions for notebooks (`label_map`, `criteria`, `reliability`, `abstention`, `labels`) compute
and call one of those that draw (`draw_map`, `draw_criteria`, …), which the report calls, too; the rest is what these
share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from clems.arrays import Floats
from clems.costs.cost import Cost
from clems.evaluation.bootstrap import Bootstrap, bootstrap
from clems.evaluation.evaluate import evaluate
from clems.evaluation.figure import Axis, Figure, axis_of, hint, percent, tag, text
from clems.evaluation.label_map import MOST, LabelMap, make_map, shown

__all__ = ["abstention", "criteria", "label_map", "labels", "reliability"]

WRITTEN = 26  # characters of a label set beside a point
LONGEST = 64  # and in its hint
NAME = 23  # and of a name beside a line
LINE = 26  # pixels from one line of a dot plot to the next
TALL = 340  # pixels of a figure with two axes
MANY = 30  # labels in a figure
MAP = 760, 540  # pixels of a map


def label_map(model: Any, *, most: int = MOST) -> Figure:
    """Draw the candidates in two dimensions of the embedding, as truths and as predictions.

    Label sets that are close together are cheap to confuse. The size of a point is the frequency of its label set in
    training; pointing at it shows the label set and the nearest ones by cost.

    Parameters
    ----------
    model : CLEMS
        A fitted model.
    most : int, default=400
        How many label sets; the most frequent ones are drawn.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems import plot
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> plot.label_map(model).save("label-map.svg").name
    'label-map.svg'
    """
    return draw_map(make_map(model, most))


def criteria(predictions: Mapping[str, Any], Y: Any, criteria: Sequence[str | Cost] | None = None) -> Figure:
    """Draw the values of criteria for several models, with 95 % bootstrap intervals over the rows.

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
    Figure

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems import plot
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> predictions = {"CLEMS": model.predict(X[150:]), "nothing": 0 * Y[150:]}
    >>> plot.criteria(predictions, Y[150:], ["f1", "hamming"]).save("criteria.svg").name
    'criteria.svg'
    """
    return draw_criteria(bootstrap(predictions, Y, criteria))


def reliability(model: Any, X: Any, Y: Any) -> Figure:
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
    Figure

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems import plot
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> plot.reliability(model, X[150:], Y[150:]).save("reliability.svg").name
    'reliability.svg'
    """
    groups = evaluate(model, X, Y).reliability
    if groups is None:
        raise ValueError(f"{type(model).__name__} does not compute what a single row is expected to cost.")
    return draw_reliability(groups)


def abstention(model: Any, X: Any, Y: Any, *, abstain_at: float | None = None) -> Figure:
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
    Figure

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems import plot
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> plot.abstention(model, X[150:], Y[150:], abstain_at=0.3).save("abstention.svg").name
    'abstention.svg'
    """
    curve = evaluate(model, X, Y, abstain_at=abstain_at).abstention
    if curve is None:
        raise ValueError(f"{type(model).__name__} does not compute what a single row is expected to cost.")
    return draw_abstention(curve)


def labels(model: Any, X: Any, Y: Any, *, most: int = MANY) -> Figure:
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
    Figure

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems import plot
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> plot.labels(model, X[150:], Y[150:]).save("labels.svg").name
    'labels.svg'
    """
    return draw_labels(evaluate(model, X, Y).labels, most)


def draw_map(label_map: LabelMap, *, bare: bool = False) -> Figure:
    """Draw a label map: a disc for each truth, a diamond for each prediction, and names where there is room.

    Points are groups with the classes `point` and their role, the first for the most frequent label set, each moved to
    its place as a whole, so that a page can move them.

    Parameters
    ----------
    label_map : LabelMap
        Its content.
    bare : bool, default=False
        Leave out names and hints, for a page that has its own.
    """
    width, height = MAP
    every = np.concatenate([label_map.truth, label_map.prediction])
    middle, span = (every.max(axis=0) + every.min(axis=0)) / 2, np.maximum(np.ptp(every, axis=0), 1e-9)
    scale = 0.86 * min(width / span[0], (height - 44) / span[1])
    size = 3.5 + 10.5 * np.sqrt(label_map.frequency / max(label_map.frequency.max(initial=0), 1e-300))
    body = []
    for role, at in (("truth", label_map.truth), ("prediction", label_map.prediction)):
        places = (at - middle) * scale * [1, -1] + [width / 2, height / 2]
        nothing = [""] * len(places)
        names = nothing if bare or role == "prediction" else _written(label_map, places, size)
        hints = nothing if bare else [hint(said) for said in _hints(label_map, role)]
        for (x, y), r, name, said in zip(places.tolist(), size.tolist(), names, hints, strict=True):
            shape = tag("circle", class_="shape", r=f"{r:.3g}")
            if role == "prediction":
                shape = tag("path", class_="shape", d=f"M0 {-r:.3g}L{r:.3g} 0L0 {r:.3g}L{-r:.3g} 0Z")
            body.append(
                tag(
                    "g",
                    shape + said + (text(name, class_="name", y=f"{-r - 4:.3g}") if name else ""),
                    class_=f"point {role}",
                    transform=f"translate({x:.5g} {y:.5g})",
                )
            )
    said = f"Map of {len(label_map.sets)} label sets, near where they are cheap to confuse"
    return Figure("".join(body), height, said, "bare", width)


def draw_criteria(comparison: Bootstrap, *, titles: bool = True) -> Figure:
    """Draw a comparison, a panel for each criterion below the other.

    Parameters
    ----------
    comparison : Bootstrap
        What to draw; its first model is set off.
    titles : bool, default=True
        Whether panels have titles.
    """
    models, criteria = comparison.models, comparison.criteria
    top = 30 if titles else 0
    tall = top + LINE * len(models)
    body = []
    for k, one in enumerate(criteria):
        start = k * (tall + 40)
        axis = axis_of(np.concatenate([comparison.low[:, k], comparison.high[:, k], comparison.value[:, k]]), 4)
        body += [text(f"{one.title} {one.arrow}", x=-152, y=start + 14, class_="title")] if titles else []
        body += _grid_across(axis, start + top, start + tall)
        for m, name in enumerate(models):
            value, low, high = (part[m, k] for part in (comparison.value, comparison.low, comparison.high))
            look, y = " accent" if m == 0 else "", start + top + LINE * m + LINE / 2
            said = f"{name}: {one.title} {value:.3f}, 95 % interval {low:.3f} to {high:.3f}"
            ends: dict[str, Any] = {"x1": percent(axis.at(low)), "x2": percent(axis.at(high)), "y1": y, "y2": y}
            dot = tag("circle", hint(said), class_=f"dot{look}", cx=percent(axis.at(value)), cy=y, r=5)
            body += [_name(name, y), tag("line", class_=f"line{look}", **ends), dot]
    height = len(criteria) * (tall + 40) - 40
    said = ", ".join(one.title for one in criteria)
    return Figure("".join(body), height, f"{said} of {len(models)} models, with intervals", "names", 480)


def draw_reliability(reliability: pd.DataFrame) -> Figure:
    """Draw expected and realised cost; points on the line say that the model knows what it will cost.

    Parameters
    ----------
    reliability : DataFrame
        Columns expected, realised and rows, a line for each group of rows.
    """
    expected, realised, rows = (reliability[name].to_numpy(np.float64) for name in ("expected", "realised", "rows"))
    end = float(max(expected.max(initial=0), realised.max(initial=0)) * 1.08) or 1.0
    axis = axis_of([0, end], 5, (0, end))
    body = _grid_across(axis, 0, TALL) + _grid_down(axis) + _titles("expected cost", "realised cost")
    body.append(tag("line", class_="line thin", x1="0%", x2="100%", y1=TALL, y2=0))
    for e, r, n in zip(expected, realised, rows, strict=True):
        said = f"{int(n):,} rows: expected {e:.3f}, realised {r:.3f}"
        size = 4 + 3 * np.sqrt(n / rows.max(initial=1))
        place = {"cx": percent(axis.at(e)), "cy": f"{TALL * (1 - axis.at(r)):.5g}", "r": f"{size:.3g}"}
        body.append(tag("circle", hint(said), class_="dot accent", **place))
    return Figure("".join(body), TALL, "Realised against expected cost of groups of rows")


def draw_abstention(curve: pd.DataFrame, unit: str = "") -> Figure:
    """Draw the mean cost per row over the share of rows handed over, between chance and the best.

    Parameters
    ----------
    curve : DataFrame
        What :func:`clems.evaluation.abstention_curve` returns.
    unit : str, default=""
        What costs are counted in.
    """
    looks = {
        "random": ("rows at random", "line thin"),
        "perfect": ("the dearest rows, if one knew them", "line dotted"),
        "cost": ("rows of the greatest expected cost", "line accent"),
    }
    highest = float(curve[["cost", "random"]].to_numpy().max() * 1.06) or 1.0
    across, down = Axis(0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)), axis_of([0, highest], 5, (0, highest))
    shares = curve["share"].to_numpy(np.float64)
    body = _grid_across(across, 0, TALL, lambda tick: f"{tick:.0%}") + _grid_down(down)
    body += _titles("rows handed over", f"mean cost per row{f', {unit}' if unit else ''}")
    for column, (name, look) in looks.items():
        y = [TALL * (1 - down.at(value)) for value in curve[column].tolist()]
        ends = [percent(share) for share in shares.tolist()]
        body += [
            tag("line", class_=look, x1=ends[at], x2=ends[at + 1], y1=f"{y[at]:.5g}", y2=f"{y[at + 1]:.5g}")
            for at in range(len(y) - 1)
        ]
        if column == "cost":
            said = [
                f"{share:.0%} handed over: {name} leave {value:.3g} a row"
                for share, value in zip(shares, curve[column], strict=True)
            ]
            body += [
                tag("circle", hint(words), class_="dot accent", cx=x, cy=f"{at:.5g}", r=3.5)
                for x, at, words in zip(ends, y, said, strict=True)
            ]
    for at, (name, look) in enumerate(looks.values()):
        line = 14 + 20 * (len(looks) - 1 - at)
        body += [
            tag("line", class_=look, x1="96%", x2="100%", y1=line, y2=line),
            text(name, x="95%", y=line + 4, text_anchor="end"),
        ]
    return Figure("".join(body), TALL, "Mean cost per row over the share of rows handed over")


def draw_labels(labels: pd.DataFrame, most: int = MANY) -> Figure:
    """Draw precision and recall of the labels with the most true rows.

    Parameters
    ----------
    labels : DataFrame
        Indexed by label, with columns support, predicted, precision and recall.
    most : int, default=30
        How many labels.
    """
    part = labels.sort_values("support", ascending=False, kind="stable").head(most)
    top = 24
    tall = top + LINE * len(part)
    body = _grid_across(Axis(0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)), top, tall)
    body += [tag("circle", class_="dot accent", cx=6, cy=8, r=5), text("precision", x=18, y=12)]
    body += [tag("circle", class_="ring", cx=100, cy=8, r=4.5), text("recall", x=112, y=12)]
    for at, (name, label) in enumerate(part.iterrows()):
        y = top + LINE * at + LINE / 2
        body += [_name(str(name), y), precision_and_recall(label, y)]
    return Figure("".join(body), tall, "Precision and recall of labels", "names", 480)


def draw_strip(label: pd.Series) -> Figure:
    """Draw precision and recall of one label, a line of a table."""
    grid = "".join(tag("line", class_="grid", x1=x, x2=x, y1=0, y2=20) for x in ("0%", "50%", "100%"))
    said = f"precision {label['precision']:.3f}, recall {label['recall']:.3f}"
    return Figure(grid + precision_and_recall(label, 10), 20, said, "bare", 160)


def draw_shares(shares: Mapping[str, float]) -> Figure:
    """Draw parts of a whole as a bar.

    Parameters
    ----------
    shares : mapping of str to float
        Names of two parts, and their shares, which add up to 1.
    """
    start, body = 0.0, []
    for (name, share), look in zip(shares.items(), ("accent", "contrast"), strict=False):
        place = {"x": percent(start), "y": 24, "width": percent(share), "height": 22}
        body.append(tag("rect", hint(f"{name}: {share:.0%}"), class_=f"bar {look}", **place))
        start += share
    names = [f"{name} {share:.0%}" for name, share in shares.items()]
    body.append(text(names[0], x="0%", y=14, class_="title"))
    body += [text(name, x="100%", y=14, text_anchor="end", class_="title") for name in names[1:2]]
    return Figure("".join(body), 48, "; ".join(names), "bare", 480)


def precision_and_recall(label: pd.Series, y: float) -> str:
    """Draw precision, a dot, and recall, a ring, of a label, and a line between them; what is not known is left out."""
    kinds = {"precision": ("predicted", "predicted"), "recall": ("support", "true")}
    known = {name: float(label[name]) for name in kinds if label[name] == label[name]}
    ends = [percent(value) for value in known.values()]
    body = tag("line", class_="line", x1=ends[0], x2=ends[1], y1=y, y2=y) if len(ends) == 2 else ""
    for name, value in known.items():
        of, kind = kinds[name]
        said = hint(f"{name} {value:.3f}, of {int(label[of]):,} {kind}")
        place = {"cx": percent(value), "cy": y}
        body += (
            tag("circle", said, class_="dot accent", r=5, **place)
            if name == "precision"
            else tag("circle", said, class_="ring", r=4.5, **place)
        )
    return body


def _name(name: str, y: float) -> str:
    """Write a name to the left of a line."""
    cut = shown([name], NAME)
    return tag("text", _escaped(cut) + ("" if cut == name else hint(name)), x=-10, y=y + 4, text_anchor="end")


def _escaped(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _grid_across(axis: Axis, top: float, bottom: float, written: Any = None) -> list[str]:
    """Draw lines at the ticks of an axis across, and write the ticks below."""
    lines = [
        tag("line", class_="grid", x1=x, x2=x, y1=top, y2=bottom)
        for x in (percent(axis.at(tick)) for tick in axis.ticks)
    ]
    return lines + [
        text((written or axis.written)(tick), x=percent(axis.at(tick)), y=bottom + 18, text_anchor="middle")
        for tick in axis.ticks
    ]


def _grid_down(axis: Axis) -> list[str]:
    """Draw lines at the ticks of an axis down, and write the ticks to the left."""
    parts = []
    for tick in axis.ticks:
        y = TALL * (1 - axis.at(tick))
        parts.append(tag("line", class_="grid", x1="0%", x2="100%", y1=f"{y:.5g}", y2=f"{y:.5g}"))
        parts.append(text(axis.written(tick), x=-8, y=f"{y + 4:.5g}", text_anchor="end"))
    return parts


def _titles(across: str, down: str) -> list[str]:
    """Write what two axes show."""
    return [
        text(across, x="50%", y=TALL + 42, text_anchor="middle"),
        text(down, x=-TALL / 2, y=-44, text_anchor="middle", transform="rotate(-90)"),
    ]


def _hints(label_map: LabelMap, role: str) -> list[str]:
    """Say what each point of the map is, and what is nearest to it."""
    near, others = (label_map.predictions, "predictions") if role == "truth" else (label_map.truths, "truths")
    names = [shown(one, LONGEST) for one in label_map.sets]
    return [
        "\n".join(
            [
                name,
                f"as the {role}; {count:,g} of {label_map.total:,g} training rows",
                f"nearest {others} by cost:",
                *(f"{cost:.3g}  {names[other]}" for other, cost in zip(places, costs, strict=True)),
            ]
        )
        for name, count, places, costs in zip(names, label_map.frequency, near.index, near.cost, strict=True)
    ]


def _written(label_map: LabelMap, places: Floats, size: Floats) -> list[str]:
    """Names to write above points, those of the most frequent first, as far as they do not cover each other."""
    texts, boxes = [], np.empty((0, 4))
    for (x, y), names, r in zip(places, label_map.sets, size, strict=True):
        name = shown(names, WRITTEN)
        half = 3.2 * len(name) + 4
        box = np.array([x - half, y - r - 15, x + half, y + r])
        free = not _overlaps(box, boxes)
        boxes = np.vstack([boxes, box]) if free else boxes
        texts.append(name if free else "")
    return texts


def _overlaps(box: Floats, boxes: Floats) -> bool:
    beside = (boxes[:, 2] < box[0]) | (boxes[:, 0] > box[2]) | (boxes[:, 3] < box[1]) | (boxes[:, 1] > box[3])
    return bool((~beside).any())
