"""What the paper claims, beside what came out: the pictures and numbers of docs/paper.md.

``python -m tools.paper_claims`` (``make claims``) reads records, draws a picture for each claim into docs/figures, and
writes the numbers into docs/paper.md, between comments. The words around them are written by hand. An experiment of
the paper counts from ``results/NAME``; where no dataset has enough repetitions there yet, from
``results/earlier/NAME``, and the page says so. With ``--measure`` Theorem 1's bound is measured first, which needs
CLEMS_DATA and takes about a minute.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter

from clems import CLEMS, COSTS
from clems.experiments import Plan, Store, make_plan, read_spec
from clems.experiments.analysis.completeness import is_done, missing
from clems.experiments.analysis.naming import criterion_named, heading_of, listed, titles_of
from clems.experiments.analysis.selection import ROW, results, summary
from clems.experiments.analysis.significance import ALPHA, corrected_interval, corrected_t_test, holm
from clems.experiments.analysis.standing import standings
from clems.experiments.analysis.times import PHASES, time_ratios
from clems.experiments.estimate import estimate, sizes_of
from clems.experiments.output.against_print import FAR, Difference, differences
from clems.experiments.output.kinds import make_table
from clems.experiments.output.printed import read_printed
from clems.experiments.store import Records
from clems.experiments.trial import parts_of
from clems.files import replacing
from clems.labels.matrix import as_dense
from clems.wording import plural

ROOT = Path(__file__).parents[1]
PAGE, FIGURES = ROOT / "docs" / "paper.md", ROOT / "docs" / "figures"
EXPERIMENTS = ("table2", "table3", "lsdr", "lsde", "candidates", "peeping", "times")
BOUND = ROOT / "results" / "wording" / "bound.json"
START, END = "<!-- claims {}: made by python -m tools.paper_claims -->\n", "<!-- end of claims -->\n"
STYLE = {"font.size": 9, "figure.constrained_layout.h_pad": 0.08, "figure.constrained_layout.w_pad": 0.06}
ENOUGH = 3  # repetitions of a learner, or all that are planned, from which on they are shown
WIDTH = 110  # characters of a line
COLOURS = {
    "clems": "#0072B2",
    "clems-forest": "#009E73",
    "clems-nearest": "#56B4E9",
    "pcc": "#D55E00",
    "cft": "#E69F00",
    "cc": "#CC79A7",
    "br": "#777777",
}
CYCLE = ["#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#777777", "#000000"]
MARKERS = "os^DvPX*"
VERDICTS = {  # of one learner against another in a row: the colour, and what a legend says
    "ahead": ("#0072B2", "better, significantly"),
    "better": ("#A9CFE6", "better"),
    "same": ("#DDDDDD", "the same"),
    "worse": ("#F7CBA4", "worse"),
    "behind": ("#D55E00", "worse, significantly"),
}


@dataclass(frozen=True)
class Evidence:
    """What is recorded of an experiment.

    Attributes
    ----------
    name : str
        Of the experiment.
    plan : Plan
        Of the trials that are done, without learners that have too few repetitions on a dataset.
    records : mapping
        Record of each key that has one.
    spec : path
        Its file.
    folder : path
        Where records and report are.
    """

    name: str
    plan: Plan
    records: Records
    spec: Path
    folder: Path

    @cached_property
    def results(self) -> pd.DataFrame:
        return results(self.plan, self.records)

    @property
    def is_earlier(self) -> bool:
        return self.folder.parent.name == "earlier"

    @property
    def datasets(self) -> list[str]:
        return [*self.results["dataset"].unique()]

    def title(self, learner: str) -> str:
        return titles_of(self.plan.spec)[learner]

    def caption(self, used: pd.DataFrame | None = None) -> str:
        """Where a picture comes from, and how many datasets and repetitions it is of."""
        used = self.results if used is None else used
        version = " of an earlier version, on splits that were looked at in development" if self.is_earlier else ""
        link = f"[{self.name}.toml]({_from_docs(self.spec)})"
        return f"From {link}{version}; {repetitions_in_words(used)}."


def _from_docs(path: Path) -> str:
    return f"../{path.resolve().relative_to(ROOT).as_posix()}"


def repetitions_in_words(used: pd.DataFrame) -> str:
    """Say of how many datasets and repetitions results are: 2 datasets: flags (5 to 20 repetitions); yeast (7)."""
    counts = used.groupby(["dataset", "learner"], sort=False)["repetition"].nunique().groupby("dataset", sort=False)
    by_number: dict[str, list[str]] = {}
    for dataset, own in counts:
        least, most = int(own.min()), int(own.max())
        number = plural(most, "repetition") if least == most else f"{least} to {most} repetitions"
        by_number.setdefault(number, []).append(dataset)
    said = [f"{listed(names)} ({number})" for number, names in by_number.items()]
    total = plural(sum(map(len, by_number.values())), "dataset")
    return f"{total}: {'; '.join(said)}"


def places_of(plan: Plan) -> dict[tuple[Any, ...], list[Any]]:
    """Planned trials that differ in their repetition alone, by dataset and what else they are."""
    places: dict[tuple[Any, ...], list[Any]] = {}
    for one in plan.planned:
        place = one.trial.dataset, one.learner, one.x, one.trial.cost, one.trial.parameters
        places.setdefault(place, []).append(one)
    return places


def what_is_there(plan: Plan, records: Records) -> Plan:
    """Return the plan of trials that are done, without places of which fewer than `ENOUGH` repetitions are."""
    kept: set[int] = set()
    for planned in places_of(plan).values():
        done = [one for one in planned if is_done(records.get(one.trial.key))]
        kept |= {*map(id, done)} if len(done) >= min(ENOUGH, len(planned)) else set()
    return Plan(plan.spec, [one for one in plan.planned if id(one) in kept], plan.without_rule)


def has_a_dataset(there: Plan, plan: Plan) -> bool:
    """Whether all of the learners of a plan are there on any dataset, at all of their places."""
    kept = places_of(there).keys()
    lacking = {dataset for dataset, *place in places_of(plan) if (dataset, *place) not in kept}
    return bool({dataset for dataset, *_ in kept} - lacking)


def evidence_in(name: str, spec: Path, folder: Path) -> Evidence:
    """Read the records of an experiment."""
    plan, records = make_plan(read_spec(spec)), Store(folder).records()
    return Evidence(name, what_is_there(plan, records), records, spec, folder)


@cache
def evidence(name: str) -> Evidence:
    """Find the records of an experiment: its own, or else those of an earlier version."""
    spec = next(ROOT.glob(f"experiments/*/{name}.toml"))
    own = evidence_in(name, spec, ROOT / "results" / name)
    if has_a_dataset(own.plan, make_plan(read_spec(spec))):
        return own
    folder = ROOT / "results" / "earlier" / name
    return evidence_in(name, folder / f"{name}.toml", folder)


def duels(frame: pd.DataFrame, one: str, rivals: Sequence[str], unit: str | None = None) -> pd.DataFrame:
    """Compare a learner with each of its rivals in every row, by the repetitions that both have.

    The test is the corrected resampled t-test, with Holm's correction for the rivals of a row. Rows in which two
    learners have fewer than two repetitions in common do not count.

    Returns
    -------
    DataFrame
        A line per row and rival: dataset, criterion, x, ``rival``, ``pairs``, ``percent`` by which the learner is
        better, of the rival's mean or of that of the learner `unit`, ``low`` and ``high`` of its 95 % interval, and
        ``verdict``, a key of `VERDICTS`.
    """
    lines = []
    for row, in_row in frame.groupby(ROW, sort=False, dropna=False):
        sign, ratio = criterion_named(row[1]).sign, float(in_row["test_ratio"].mean())
        values = in_row.dropna(subset="value").pivot(index="repetition", columns="learner", values="value")
        found = []
        for rival in (name for name in rivals if {name, one} <= {*values.columns}):
            both = values[[one, rival]].dropna()
            if len(both) > 1:
                gained = sign * (both[one] - both[rival])
                whole = abs(both[unit or rival].mean())
                found.append((rival, gained, 100 / whole, corrected_t_test(gained, ratio)))
        for (rival, gained, scale, _), p in zip(found, holm([p for *_, p in found]), strict=True):
            low, high = corrected_interval(gained, ratio)
            verdict = _verdict(float(gained.mean()), bool(p < ALPHA))
            lines.append((*row, rival, len(gained), scale * gained.mean(), scale * low, scale * high, verdict))
    return pd.DataFrame(lines, columns=[*ROW, "rival", "pairs", "percent", "low", "high", "verdict"])


def _verdict(gained: float, sure: bool) -> str:
    if abs(gained) < 1e-12:
        return "same"
    return ("ahead" if sure else "better") if gained > 0 else ("behind" if sure else "worse")


def count(found: pd.DataFrame) -> Counter[str]:
    """Count rows by verdict."""
    return Counter({name: int((found["verdict"] == name).sum()) for name in VERDICTS})


def in_words(found: pd.DataFrame, what: str = "rows") -> str:
    """Say in how many rows a learner is better and worse than a rival."""
    own = count(found)
    better, worse = own["ahead"] + own["better"], own["behind"] + own["worse"]
    same = f", the same in {own['same']}" if own["same"] else ""
    return (
        f"better in {better} of {len(found)} {what} ({own['ahead']} significantly) and worse in {worse} "
        f"({own['behind']} significantly){same}"
    )


# ---------------------------------------------------------------- drawing


def bars(ax: Any, groups: Mapping[str, pd.DataFrame], beside: Mapping[str, str] | None = None) -> None:
    """Draw a bar of counted verdicts for each group of rows, the first on top."""
    most = max([len(found) for found in groups.values()] or [1])
    for at, (label, found) in enumerate(groups.items()):
        left = 0
        for name, number in count(found).items():
            ax.barh(at, number, left=left, color=VERDICTS[name][0], height=0.72)
            if number:
                dark = name in ("ahead", "behind")
                place = {"ha": "center", "va": "center", "color": "white" if dark else "#333333", "fontsize": 8}
                ax.text(left + number / 2, at, str(number), **place)
            left += number
        if beside and label in beside:
            ax.text(most * 1.03, at, beside[label], va="center", fontsize=8, color="#444444")
    ax.set_yticks(range(len(groups)), [*groups])
    ax.set_ylim(len(groups) - 0.5, -0.5)
    ax.set_xlim(0, most)
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks([])


def legend_of_verdicts(figure: Any, groups: Mapping[str, pd.DataFrame]) -> None:
    """Explain the colours of bars that are there."""
    there = sum((count(found) for found in groups.values()), Counter[str]())
    shown = [name for name in VERDICTS if there[name]]
    handles = [Patch(color=VERDICTS[name][0], label=VERDICTS[name][1]) for name in shown]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8, handlelength=1.2)


def legend_above(figure: Any, handles: Sequence[Any]) -> None:
    """Put one legend above all panels, in as many lines as it needs."""
    width = sum(0.42 + 0.07 * len(one.get_label()) for one in handles)  # inches, roughly
    columns = -(-len(handles) // -(-int(10 * width) // 72))
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, fontsize=8, columnspacing=1.2)


def figure_of_bars(groups: Mapping[str, pd.DataFrame], title: str, beside: Mapping[str, str] | None = None) -> Any:
    """A picture of bars alone."""
    figure, ax = plt.subplots(figsize=(7.6, 0.95 + 0.29 * len(groups)))
    bars(ax, groups, beside)
    ax.set_title(title)
    if beside:
        ax.annotate("in print", (1.03, 1.0), xycoords="axes fraction", fontsize=8, color="#444444", va="bottom")
    legend_of_verdicts(figure, groups)
    return figure


def panels(number: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, list[Any]]:
    """A figure with a grid of panels; places that are left over are empty."""
    columns = min(columns, number)
    lines = -(-number // columns)
    shape = {"figsize": (size[0] * columns, size[1] * lines + 0.35), "squeeze": False}
    figure, grid = plt.subplots(lines, columns, **shape, **options)
    axes = grid.ravel().tolist()
    for ax in axes[number:]:
        ax.remove()
    return figure, axes[:number]


def lines_of_datasets(found: pd.DataFrame, x_label: str, y_label: str, names: Sequence[str]) -> Any:
    """A panel for each criterion, a line for each dataset: percent gained over x, with 95 % intervals."""
    criteria = [*found["criterion"].unique()]
    figure, axes = panels(len(criteria), 3, (2.55, 2.4), sharex=True)
    for ax, criterion in zip(axes, criteria, strict=True):
        ax.axhline(0, color="#444444", linewidth=1)
        for at, name in enumerate(names):
            own = found[(found["criterion"] == criterion) & (found["dataset"] == name)].sort_values("x")
            ax.fill_between(own["x"], own["low"], own["high"], color=CYCLE[at], alpha=0.06, linewidth=0)
            ax.plot(own["x"], own["percent"], color=CYCLE[at], marker=MARKERS[at], markersize=4, linewidth=1.4)
        ax.set_title(heading_of(criterion))
        ax.grid(axis="y")
        middle = found.loc[found["criterion"] == criterion, "percent"]
        reach = max(1.5 * middle.abs().max(), 1.0)  # intervals of few repetitions may be far wider
        ax.set_ylim(max(-reach, 1.15 * min(middle.min(), -0.5) - 1.5), min(reach, 1.15 * max(middle.max(), 0.5) + 1.5))
    axes[0].set_ylabel(y_label)
    figure.supxlabel(x_label, fontsize=9, color="#444444")
    handles = [
        Line2D([], [], color=CYCLE[at], marker=MARKERS[at], markersize=4, linewidth=1.4, label=name)
        for at, name in enumerate(names)
    ]
    legend_above(figure, handles)
    return figure


def curves_and_bars(own: Evidence, groups: Mapping[str, pd.DataFrame], title: str, log: bool = False) -> Any:
    """F1 over the number of dimensions, a panel for each dataset, and bars of what all criteria say."""
    cells = summary(own.results)
    cells = cells[cells["criterion"] == "f1"]
    names, learners = own.datasets, [*cells["learner"].unique()]
    columns = -(-len(names) // -(-len(names) // 5))
    lines = -(-len(names) // columns)
    figure = plt.figure(figsize=(7.6, 1.95 * lines + 0.9 + 0.22 * len(groups)))
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.95 * lines + 0.3, 0.6 + 0.22 * len(groups)])
    grid = upper.subplots(lines, columns, squeeze=False, sharex=True).ravel().tolist()
    for ax in grid[len(names) :]:
        ax.remove()
    free = iter(colour for colour in CYCLE if colour not in {COLOURS.get(name) for name in learners})
    colours = {name: COLOURS.get(name) or next(free) for name in learners}
    for ax, name in zip(grid, names, strict=False):
        for at, learner in enumerate(learners):
            curve = cells[(cells["dataset"] == name) & (cells["learner"] == learner)].sort_values("x")
            style = {"color": colours[learner], "marker": MARKERS[at], "markersize": 3, "linewidth": 1.2}
            ax.plot(curve["x"], curve["mean"], **style)
        ax.set_title(name)
        ax.tick_params(labelsize=7)
        ax.grid(axis="y")
        if log:
            ax.set_xscale("log", base=2)
            ax.set_xticks([1.2, 2, 4, 10], ["1.2", "2", "4", "10"])
            ax.minorticks_off()
    grid[0].set_ylabel("F1")
    upper.supxlabel("M / K", fontsize=8, color="#444444")
    handles = [
        Line2D([], [], color=colours[name], marker=MARKERS[at], markersize=4, linewidth=1.4, label=own.title(name))
        for at, name in enumerate(learners)
    ]
    legend_above(upper, handles)
    ax = lower.subplots()
    bars(ax, groups)
    ax.set_title(title)
    ax.tick_params(labelsize=8)
    legend_of_verdicts(lower, groups)
    return figure


def forest_plot(found: pd.DataFrame, title: str, x_label: str) -> Any:
    """Percent gained with 95 % intervals, a line for each dataset and criterion."""
    figure, ax = plt.subplots(figsize=(7.6, 0.9 + 0.27 * len(found)))
    ax.axvline(0, color="#444444", linewidth=1)
    for at, one in enumerate(found.itertuples()):
        colour = VERDICTS["ahead" if one.percent > 0 else "behind"][0]
        ax.plot([one.low, one.high], [at, at], color=colour, linewidth=1.6, alpha=0.6)
        ax.plot(one.percent, at, "o", color=colour, markersize=6)
    ax.set_yticks(range(len(found)), [f"{one.dataset}, {heading_of(one.criterion)}" for one in found.itertuples()])
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.set_xlabel(x_label)
    ax.set_title(title)
    ax.grid(axis="x")
    return figure


# ---------------------------------------------------------------- claims


@dataclass(frozen=True)
class Claim:
    """What stands below the heading of a claim: a picture, where it comes from, and counts.

    Attributes
    ----------
    figure : figure or None
        The picture.
    says : str
        What it shows, for those who do not see it.
    caption : str
        From which experiment it is.
    sentences : list of str
        Counts.
    more : str
        A table or the like, as it is.
    """

    figure: Any
    says: str
    caption: str
    sentences: Sequence[str]
    more: str = ""

    def text(self, name: str) -> str:
        parts = [] if self.figure is None else [f"![{self.says}](figures/paper-{name}.svg)"]
        paragraph = " ".join([*([self.caption] if self.caption else []), *self.sentences])
        parts += [wrapped(part) for part in _short(paragraph)]
        return "\n\n".join([*parts, *([self.more] if self.more else [])])


def wrapped(text: str) -> str:
    whole = text.replace(" %", "\N{NO-BREAK SPACE}%")
    filled = textwrap.fill(whole, WIDTH, break_long_words=False, break_on_hyphens=False)
    return filled.replace("\N{NO-BREAK SPACE}", " ")


def _short(text: str) -> Iterator[str]:
    """Cut a paragraph between sentences so that each has at most eight lines."""
    kept = ""
    for sentence in re.split(r"(?<=[.:]) (?=[A-Z\[])", text):
        longer = f"{kept} {sentence}".strip()
        if kept and len(wrapped(longer).splitlines()) > 8:
            yield kept
            longer = sentence
        kept = longer
    if kept:
        yield kept


def beside_print(own: Evidence, one: str, rival: str, criterion: str) -> str:
    """In how many datasets the paper prints a better mean for a learner than for a rival."""
    printed = read_printed(own.plan.spec.printed)
    sign = criterion_named(criterion).sign
    both = [
        sign * (printed[dataset, one, criterion][0] - printed[dataset, rival, criterion][0])
        for dataset in dict.fromkeys(dataset for dataset, *_ in printed)
        if {(dataset, one, criterion), (dataset, rival, criterion)} <= printed.keys()
    ]
    return f"better in {sum(gain > 0 for gain in both)} of {len(both)}" if both else "blank"


def sensitive() -> Claim:
    """Cost-sensitive learners against those that are not."""
    own, groups, sentences = evidence("table2"), {}, []
    for name in ("clems-nearest", "pcc", "cft"):
        found = duels(own.results, name, ["br", "cc"])
        sentences.append(f"{own.title(name)} is {in_words(found, 'comparisons')}")
        groups |= {
            f"{own.title(name)} against {own.title(rival)}": found[found["rival"] == rival] for rival in ("br", "cc")
        }
    said = "; ".join(sentences)
    return Claim(
        figure_of_bars(groups, "Rows of Table 2, all four criteria"),
        "In how many rows of Table 2 each cost-sensitive learner is better than BR and CC",
        own.caption(own.results[own.results["learner"].isin(["br", "cc", "pcc", "cft", "clems-nearest"])]),
        [f"Against BR and CC, {said}. A comparison is of a dataset and a criterion with one of both."],
    )


def against(rival: str) -> Claim:
    """The paper's CLEMS against another cost-sensitive learner, by criterion."""
    own = evidence("table2")
    found = duels(own.results, "clems-nearest", [rival])
    groups, beside = {}, {}
    for criterion in own.plan.spec.criteria:
        groups[heading_of(criterion)] = found[found["criterion"] == criterion]
        beside[heading_of(criterion)] = beside_print(own, "clems-nearest", rival, criterion)
    at_rank, others = found[found["criterion"] == "rank"], found[found["criterion"] != "rank"]
    other = own.title(rival)
    return Claim(
        figure_of_bars(groups, f"CLEMS, nearest, against {other}: datasets of Table 2", beside),
        f"On how many datasets the paper's algorithm is better than {other}, by criterion, and in print",
        own.caption(own.results[own.results["learner"].isin([rival, "clems-nearest"])]),
        [
            f"Under F1, accuracy and composition loss, the paper's algorithm is {in_words(others)}; in rank loss it "
            f"is {in_words(at_rank)}."
        ],
    )


def cft() -> Claim:
    return against("cft")


def pcc() -> Claim:
    return against("pcc")


def rank_loss() -> Claim:
    """Rank loss of CLEMS beside that of PCC."""
    own = evidence("table2")
    frame = own.results[own.results["criterion"] == "rank"]
    names = ("clems-nearest", "clems")
    found = {name: duels(frame, name, ["pcc"]) for name in names}
    datasets = [name for name in own.datasets if name in {*found["clems-nearest"]["dataset"]}]
    printed = read_printed(own.plan.spec.printed)
    figure, ax = plt.subplots(figsize=(7.6, 1.2 + 0.36 * len(datasets)))
    ax.axvline(1, color=COLOURS["pcc"], linewidth=1.5)
    for at, dataset in enumerate(datasets):
        ratio = printed[dataset, "clems-nearest", "rank"][0] / printed[dataset, "pcc", "rank"][0]
        ax.plot(ratio, at, "D", markerfacecolor="white", markeredgecolor="#777777", markersize=6)
        for name, shift in zip(names, (-0.13, 0.13), strict=True):
            own_row = found[name][found[name]["dataset"] == dataset]
            for one in own_row.itertuples():
                middle, ends = 1 - one.percent / 100, (1 - one.high / 100, 1 - one.low / 100)
                ax.plot(ends, [at + shift] * 2, color=COLOURS[name], linewidth=1.6, alpha=0.6)
                ax.plot(middle, at + shift, "o", color=COLOURS[name], markersize=6)
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ticks = [tick for tick in (0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5) if low <= tick <= high]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.minorticks_off()
    ax.set_yticks(range(len(datasets)), datasets)
    ax.set_ylim(len(datasets) - 0.5, -0.5)
    ax.set_xlabel("rank loss as a multiple of PCC's: further left is better")
    ax.grid(axis="x")
    look = {"markersize": 6, "linestyle": ""}
    handles = [
        Line2D([], [], marker="D", markerfacecolor="white", markeredgecolor="#777777", label="CLEMS, in print", **look),
        *(Line2D([], [], marker="o", color=COLOURS[name], label=own.title(name), **look) for name in names),
        Line2D([], [], color=COLOURS["pcc"], linewidth=1.5, label="PCC"),
    ]
    legend_above(figure, handles)
    return Claim(
        figure,
        "Rank loss of the paper's CLEMS and of default CLEMS as multiples of PCC's, by dataset",
        f"{own.caption(frame[frame['learner'].isin([*names, 'pcc'])])} Lines are 95 % intervals.",
        [
            f"In print, CLEMS's rank loss against PCC's is {beside_print(own, 'clems-nearest', 'pcc', 'rank')} "
            "datasets.",
            f"Ours, {own.title('clems-nearest')} is {in_words(found['clems-nearest'])}, and default CLEMS is "
            f"{in_words(found['clems'])}.",
        ],
    )


def blank() -> Claim:
    """PCC under the criteria that the paper leaves blank."""
    own, groups = evidence("table2"), {}
    others = ("clems-nearest", "cft", "clems")
    found = duels(own.results, "pcc", others)
    for criterion in ("accuracy", "composition"):
        for name in others:
            label = f"{heading_of(criterion)}, against {own.title(name)}"
            groups[label] = found[(found["rival"] == name) & (found["criterion"] == criterion)]
    used = own.results[own.results["criterion"].isin(["accuracy", "composition"])]
    return Claim(
        figure_of_bars(groups, "PCC, where the paper leaves it blank"),
        "On how many datasets PCC is better than others under accuracy and composition loss",
        own.caption(used[used["learner"].isin(["pcc", *others])]),
        [
            f"Over both criteria, PCC against {own.title(name)} is "
            + in_words(found[(found["rival"] == name) & found["criterion"].isin(["accuracy", "composition"])])
            + "."
            for name in others
        ],
    )


def default() -> Claim:
    """In how many rows each learner is first, or not significantly behind the first."""
    own = evidence("table2")
    found = sorted(standings(own.results).items(), key=lambda item: (-item[1].near / item[1].rows, -item[1].first))
    figure, ax = plt.subplots(figsize=(7.6, 1.0 + 0.3 * len(found)))
    parts = {"first": "#0072B2", "not significantly behind the first": "#A9CFE6", "behind": "#EEEEEE"}
    for at, (_, one) in enumerate(found):
        left = 0.0
        numbers = (one.first, one.near - one.first, one.rows - one.near)
        for (name, colour), number in zip(parts.items(), numbers, strict=True):
            share = number / one.rows
            ax.barh(at, share, left=left, color=colour, height=0.72)
            if number:
                dark = {"color": "white" if name == "first" else "#333333", "fontsize": 8}
                ax.text(left + share / 2, at, str(number), ha="center", va="center", **dark)
            left += share
    ax.set_yticks(range(len(found)), [own.title(name) for name, _ in found])
    ax.set_ylim(len(found) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xticks([])
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set_title("Rows of Table 2: dataset and criterion")
    handles = [Patch(color=colour, label=name) for name, colour in parts.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8, handlelength=1.2)
    lines = [
        f"| {own.title(name)} | {one.first} | {one.near} | {one.rows} | {one.datasets} | "
        f"{listed([*map(str, one.repetitions)])} |"
        for name, one in found
    ]
    head = "| learner | first | first, or not significantly behind | rows | datasets | repetitions |\n" + "|---" * 6
    return Claim(
        figure,
        "In how many rows of Table 2 each learner is first, or not significantly behind the first",
        own.caption(),
        [
            "Tests are paired, for splits that share rows, with Holm's correction. The fewer the repetitions, the "
            "less a test sees."
        ],
        f"{head}|\n" + "\n".join(lines),
    )


def print_beside() -> Claim:
    """CLEMS beside what is printed for CLEMS, cell by cell."""
    own = evidence("table2")
    found = differences(own.plan, make_table(own.plan, own.records))
    criteria, datasets = own.plan.spec.criteria, own.datasets
    names = ("clems-nearest", "clems")
    figure, axes = panels(len(criteria), 4, (1.95, 0.9 + 0.24 * len(datasets)), sharey=True)
    for ax, criterion in zip(axes, criteria, strict=True):
        ax.axvspan(-FAR, FAR, color="#EEEEEE", linewidth=0)
        ax.axvline(0, color="#444444", linewidth=1)
        for one in found:
            if one.criterion == criterion and one.learner in names:
                shift = 0.13 if one.learner == "clems" else -0.13
                place = one.gain, datasets.index(one.dataset) + shift
                ax.plot(*place, "o", color=COLOURS[one.learner], markersize=5.5)
        ax.set_xscale("symlog", linthresh=FAR, linscale=0.8)
        ax.set_title(heading_of(criterion))
        reach = max([FAR + 1, *(abs(one.gain) * 1.1 for one in found if one.learner in names)])
        ax.set_xlim(-1.15 * reach, 1.15 * reach)
        far = 20 if reach > 20 else 10
        ax.set_xticks([tick for tick in (-far, -FAR, 0, FAR, far) if abs(tick) < reach])
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", "−")))
        ax.tick_params(axis="x", labelsize=7.5)
        ax.minorticks_off()
    axes[0].set_yticks(range(len(datasets)), datasets)
    axes[0].set_ylim(len(datasets) - 0.5, -0.5)
    figure.supxlabel("standard errors better than the printed CLEMS", fontsize=9, color="#444444")
    look = {"marker": "o", "linestyle": "", "markersize": 5.5}
    handles = [Line2D([], [], color=COLOURS[name], label=own.title(name), **look) for name in names]
    legend_above(figure, handles)
    sentences = []
    for name in names:
        cells = [one for one in found if one.learner == name]
        by = Counter(one.verdict for one in cells)
        sentences.append(
            f"{own.title(name)} is better than the printed CLEMS by more than {FAR:g} standard errors in "
            f"{by['better']} of {len(cells)} cells, worse in {by['worse']}, and below print, by any amount, in "
            f"{sum(one.gain < 0 for one in cells)}."
        )
    worse = [one for one in found if one.verdict == "worse" and one.learner in names]
    used = own.results[own.results["learner"].isin(names)]
    return Claim(
        figure,
        "How many standard errors the paper's algorithm and default CLEMS are better than the printed CLEMS",
        own.caption(used),
        [*sentences, f"The grey band is {FAR:g} standard errors wide on each side."],
        _reasons(own, worse),
    )


def _reasons(own: Evidence, worse: Sequence[Difference]) -> str:
    if not worse:
        return "No cell of either is worse than print by more than that."
    lines = [
        f"| {one.dataset} | {heading_of(one.criterion)} | {own.title(one.learner)} | "
        f"{one.cell.value:.{one.decimals}f} | {one.cell.printed:.{one.decimals}f} | {abs(one.gain):.1f} | "
        f"{one.reason} |"
        for one in worse
    ]
    head = "| dataset | criterion | learner | ours | printed | standard errors worse | reason |\n" + "|---" * 7
    return f"{head}|\n" + "\n".join(lines)


def below() -> Claim:
    """Fewer dimensions than labels, against embeddings that know no cost."""
    own = evidence("lsdr")
    others = [name for name in ("plst", "cplst", "faie") if name in own.plan.spec.learners]
    found = duels(own.results, "clems-nearest", [*others, "sleec"])
    groups = by_criterion(own, found, others)
    return Claim(
        curves_and_bars(own, groups, "CLEMS, nearest: datasets and M / K"),
        "F1 over the number of dimensions, and in how many rows the paper's CLEMS is better than each embedding",
        own.caption(),
        [
            f"Against {listed([own.title(name) for name in others])}, the paper's algorithm is "
            f"{in_words(found[found['rival'] != 'sleec'], 'comparisons')}. A comparison is of a dataset, a criterion "
            "and a value of M / K with one of them.",
        ],
    )


def by_criterion(own: Evidence, found: pd.DataFrame, others: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Rows by criterion and rival, as bars are."""
    return {
        f"{heading_of(criterion)}, against {own.title(name)}": found[
            (found["rival"] == name) & (found["criterion"] == criterion)
        ]
        for criterion in own.plan.spec.criteria
        for name in others
    }


def sleec() -> Claim:
    """Fewer dimensions than labels, against the embedding that chooses its threshold for the cost."""
    own = evidence("lsdr")
    found = duels(own.results, "clems-nearest", ["plst", "cplst", "faie", "sleec"])
    found = found[found["rival"] == "sleec"]
    groups = {f"M / K = {x:g}": found[found["x"] == x] for x in sorted(found["x"].unique())}
    at_most = found[found["x"] == found["x"].max()]
    return Claim(
        figure_of_bars(groups, "CLEMS, nearest, against SLEEC: datasets and criteria"),
        "In how many rows the paper's CLEMS is better than SLEEC, by the number of dimensions",
        own.caption(own.results[own.results["learner"].isin(["clems-nearest", "sleec"])]),
        [
            f"Against SLEEC, the paper's algorithm is {in_words(found)}; with as many dimensions as labels, "
            f"{in_words(at_most)}."
        ],
    )


def beyond() -> Claim:
    """More dimensions than labels."""
    own = evidence("lsde")
    frame = own.results.copy()
    for name in frame["learner"].unique():  # the k-th length of a code beside the k-th dimension of CLEMS, as in print
        places = {x: at for at, x in enumerate(sorted(frame.loc[frame["learner"] == name, "x"].unique()))}
        frame.loc[frame["learner"] == name, "x"] = frame.loc[frame["learner"] == name, "x"].map(places)
    others = [name for name in ("ecc-rrep", "ecc-hamr") if name in own.plan.spec.learners]
    found = duels(frame, "clems-nearest", others)
    groups = by_criterion(own, found, others)
    return Claim(
        curves_and_bars(own, groups, "CLEMS, nearest: datasets and lengths", log=True),
        "F1 over the number of dimensions, and in how many rows the paper's CLEMS is better than each code",
        own.caption(),
        [
            f"Against {listed([own.title(name) for name in others])}, the paper's algorithm is "
            f"{in_words(found, 'comparisons')}. As in the paper's figures, the first dimension of CLEMS stands beside "
            "the first length of a code, and so on.",
        ],
    )


def against_position(frame: pd.DataFrame, base: float) -> pd.DataFrame:
    """Compare a learner at each position x with itself at another one."""
    named = frame.assign(learner=frame["x"].map("{:g}".format), x=np.nan)
    others = [name for name in named["learner"].unique() if name != f"{base:g}"]
    found = duels(named, f"{base:g}", others, unit=f"{base:g}")
    flipped = {"ahead": "behind", "better": "worse", "worse": "better", "behind": "ahead", "same": "same"}
    turned = found.assign(
        x=found["rival"].astype(float),
        percent=-found["percent"],
        low=-found["high"],
        high=-found["low"],
        verdict=found["verdict"].map(flipped),
    )
    at_base = turned.drop_duplicates(["dataset", "criterion"]).assign(
        x=base, rival=f"{base:g}", percent=0.0, low=0.0, high=0.0, verdict="base"
    )
    return pd.concat([turned, at_base], ignore_index=True)


def candidates() -> Claim:
    """Fewer and more candidates than label vectors of training."""
    own = evidence("candidates")
    found = against_position(own.results, 1.0)
    figure = lines_of_datasets(found, "candidates / label vectors of training", "better by, in %", own.datasets)
    fewer, more = found[found["x"] < 1], found[found["x"] > 1]
    return Claim(
        figure,
        "What fewer and more candidates change, by criterion and dataset",
        f"{own.caption()} Bands are 95 % intervals; those of few repetitions may leave the picture.",
        [
            f"With fewer candidates the results are {in_words(fewer)}; with the fewest, a quarter, "
            f"{in_words(fewer[fewer['x'] == fewer['x'].min()])}.",
            f"With more, they are {in_words(more)}.",
        ],
    )


def peeping() -> Claim:
    """Candidates from the test rows, too."""
    own = evidence("peeping")
    found = duels(own.results, "clems-all", ["clems-train"])
    figure = lines_of_datasets(found, "M / K", "better with S_all by, in %", own.datasets)
    typical = found["percent"].abs().median()
    return Claim(
        figure,
        "What knowing the label vectors of test rows changes, by criterion and dataset",
        f"{own.caption()} Bands are 95 % intervals.",
        [
            f"With the label vectors of the test rows among the candidates, results are {in_words(found)}.",
            f"The median of the differences is {typical:.1f} %, and the greatest gain {found['percent'].max():.1f} %.",
        ],
    )


def dimension() -> Claim:
    """How many dimensions are enough."""
    own = evidence("peeping")
    frame = own.results[own.results["learner"] == "clems-train"]
    found = against_position(frame, 1.0)
    figure = lines_of_datasets(found, "M / K", "better than M = K by, in %", own.datasets)
    fewer, more = found[found["x"] < 1], found[found["x"] > 1]
    return Claim(
        figure,
        "What fewer and more dimensions than labels change, by criterion and dataset",
        f"{own.caption(frame)} Bands are 95 % intervals.",
        [
            f"With fewer dimensions than labels, CLEMS, nearest is {in_words(fewer)} than with as many as labels; "
            f"with more, {in_words(more)}, and its median gain is {_signed(more['percent'].median())} %.",
        ],
    )


def times() -> Claim:
    """Running times as multiples of BR's."""
    own = evidence("times")
    frame = time_ratios(own.results, own.plan.spec.baseline).dropna(subset="factor")
    datasets = own.datasets
    learners = [name for name in own.plan.spec.learners if name in {*frame["learner"]} and name != "br"]
    figure, axes = panels(3, 3, (2.55, 0.8 + 0.3 * len(datasets)), sharey=True)
    for ax, phase in zip(axes, PHASES, strict=True):
        ax.axvline(1, color=COLOURS["br"], linewidth=1.5)
        for name in learners:
            part = frame[(frame["phase"] == phase) & (frame["learner"] == name)]
            at = [datasets.index(one) for one in part["dataset"]]
            ax.plot(part["factor"], at, "o", color=COLOURS[name], markersize=6)
        ax.set_xscale("log")
        ax.set_title(phase)
        ticks = [0.01, 0.1, 1, 10]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
        ax.set_xlim(frame["factor"].min() / 1.4, frame["factor"].max() * 1.4)
        ax.grid(axis="x")
    axes[0].set_yticks(range(len(datasets)), datasets)
    axes[0].set_ylim(len(datasets) - 0.5, -0.5)
    figure.supxlabel("time as a multiple of BR's", fontsize=9, color="#444444")
    look = {"marker": "o", "linestyle": "", "markersize": 6}
    handles = [Line2D([], [], color=COLOURS["br"], linewidth=1.5, label="BR")]
    handles += [Line2D([], [], color=COLOURS[name], label=own.title(name), **look) for name in learners]
    legend_above(figure, handles)

    def span(name: str, phase: str) -> str:
        values = frame[(frame["learner"] == name) & (frame["phase"] == phase)]["factor"]
        return f"{values.min():.2g} to {values.max():.2g}"

    return Claim(
        figure,
        "Training, prediction and total time of each learner as a multiple of BR's",
        f"{own.caption()} Processor time of one job.",
        [
            "Training takes "
            + listed([f"{own.title(name)} {span(name, 'training')}" for name in learners])
            + " times as long as BR; prediction takes "
            + listed([f"{own.title(name)} {span(name, 'prediction')}" for name in learners])
            + " times as long.",
        ],
    )


def indirect() -> Claim:
    """CLEMS for accuracy, judged by criteria that it was not trained for."""
    own = evidence("table3")
    others = [name for name in ("br", "cc", "pcc-f1", "pcc-rank") if name in own.plan.spec.learners]
    found = duels(own.results, "clems-accuracy", others)
    groups, beside = {}, {}
    for name in others:
        for criterion in own.plan.spec.criteria:
            label = f"{heading_of(criterion)}, against {own.title(name)}"
            groups[label] = found[(found["rival"] == name) & (found["criterion"] == criterion)]
            beside[label] = beside_print(own, "clems-accuracy", name, criterion)
    plain, chains = (found[found["rival"].isin(["br", "cc"]) == wanted] for wanted in (True, False))
    return Claim(
        figure_of_bars(groups, "CLEMS for accuracy, nearest: datasets of Table 3", beside),
        "On how many datasets of Table 3 the paper's CLEMS, trained for accuracy, is better than BR, CC and PCC",
        own.caption(_tested(own.results)),
        [
            f"Against BR and CC, CLEMS for accuracy is {in_words(plain, 'comparisons')}; against PCC for F1 and for "
            f"rank loss, {in_words(chains, 'comparisons')}. The test file is always the same, so tests are of "
            "differences between seeds.",
        ],
    )


def direct() -> Claim:
    """CLEMS trained for the criterion itself."""
    own = evidence("table3")
    others = [name for name in ("clems-f1", "clems-accuracy", "clems-rank") if name in own.plan.spec.learners]
    found = duels(own.results, "clems", others)
    groups = by_criterion(own, found, others)
    subset = found[(found["criterion"] == "zero_one") & (found["rival"] == "clems-accuracy")]
    return Claim(
        figure_of_bars(groups, "Trained for the criterion itself"),
        "On how many datasets of Table 3 CLEMS is better if it is trained for the criterion itself",
        own.caption(_tested(own.results)),
        [
            f"Against the paper's CLEMS for F1, accuracy and rank loss, default CLEMS trained for the criterion itself "
            f"is {in_words(found, 'comparisons')}. By subset accuracy against CLEMS for accuracy alone, it is "
            f"{in_words(subset)}.",
        ],
    )


def _tested(frame: pd.DataFrame) -> pd.DataFrame:
    """Results of datasets with more than one repetition, without which there is no test."""
    more = frame.groupby("dataset")["repetition"].transform("nunique") > 1
    return frame[more]


def wording(rival: str, title: str) -> Claim:
    """What changes if a part of the algorithm is as the paper words it, or as it could be."""
    own = evidence("wording")
    found = duels(own.results, rival, ["clems-nearest"]).sort_values("criterion", kind="stable", key=_in_order(own))
    words = []
    for criterion in own.plan.spec.criteria:
        part = found[found["criterion"] == criterion]
        least, most = sorted(part["percent"], key=abs)[0], sorted(part["percent"], key=abs)[-1]
        words.append(f"{heading_of(criterion)[:-2]} {_signed(least)} to {_signed(most)} %")
    return Claim(
        forest_plot(found, title, "better than CLEMS, nearest by, in %"),
        f"{title}: what it changes, by criterion and dataset",
        f"{own.caption(own.results[own.results['learner'].isin([rival, 'clems-nearest'])])} Forests of 25 trees; "
        "lines are 95 % intervals.",
        [f"Differences, + is better: {'; '.join(words)}. It is {in_words(found)}."],
    )


def _in_order(own: Evidence) -> Callable[[pd.Series], pd.Series]:
    return lambda column: column.map({name: at for at, name in enumerate(own.plan.spec.criteria)})


def _signed(value: float) -> str:
    text = f"{value:+.1f}".replace("-", "−")
    return "0.0" if text[1:] == "0.0" else text


def roles() -> Claim:
    return wording("swapped", "Roles as the paper's text has them")


def root() -> Claim:
    return wording("identity", "Distances that are costs, without the square root")


# ---------------------------------------------------------------- Theorem 1


def measure_bound(splits: int = 3) -> dict[str, Any]:
    """Measure how often Theorem 1's bound holds, on splits of the experiment on wording."""
    spec = read_spec(ROOT / "experiments" / "choices" / "wording.toml")
    lines = []
    for one in make_plan(spec).planned:
        trial = one.trial
        if trial.repetition < splits and one.learner in ("clems-nearest", "swapped"):
            data = spec.load(trial.dataset)
            parts, (X, Y) = parts_of(trial, data), (data.whole.X, as_dense(data.whole.Y))
            parameters = json.loads(trial.parameters)
            model = CLEMS(trial.cost, random_state=trial.seed_for("learner"), **parameters)
            model.fit(X[parts.train], Y[parts.train])
            lines.append(
                {"dataset": trial.dataset, "cost": trial.cost, "roles": model.roles, "repetition": trial.repetition}
                | bound_of(model, X[parts.test], Y[parts.test])
            )
    return {"made by": "python -m tools.paper_claims --measure", "seed": spec.seed, "rows": lines}


def bound_of(model: CLEMS, X: Any, Y: np.ndarray) -> dict[str, Any]:
    """Count rows whose label vector is embedded, and those among them whose cost is above the theorem's bound."""
    labels, embedding = as_dense(model.candidates_.labels), model.embedding_
    learned, decoded = embedding.truth, embedding.prediction
    if model.roles == "swapped":
        learned, decoded = decoded, learned
    place = {tuple(row): at for at, row in enumerate(labels.tolist())}
    known = np.array([tuple(row) in place for row in Y.tolist()])
    truth = np.array([place[tuple(row)] for row in Y[known].tolist()])
    points = model.posterior(X[known]).points
    nearest = np.array([place[tuple(row)] for row in model.predict(X[known]).tolist()])
    cost = COSTS[model.cost].rowwise(labels[truth], labels[nearest])
    embedding_error = (np.linalg.norm(learned[truth] - decoded[nearest], axis=1) - np.sqrt(cost)) ** 2
    regression_error = ((learned[truth] - points) ** 2).sum(axis=1)
    bound = 5 * (embedding_error + regression_error)
    wrong = cost > 0
    return {
        "n": len(cost),
        "broken": int((cost > bound + 1e-9).sum()),
        "bound": float(bound.mean()),
        "paid": float(cost.mean()),
        "times": float(np.median(bound[wrong] / cost[wrong])),
    }


def theorem() -> Claim:
    """How often Theorem 1's bound is broken."""
    made = json.loads(BOUND.read_text())
    frame = pd.DataFrame(made["rows"])
    sizes = frame[["bound", "paid"]].mul(frame["n"], axis=0)
    sums_of = frame.assign(**sizes).groupby(["roles", "cost", "dataset"], sort=False)[["n", "broken", "bound", "paid"]]
    found = sums_of.sum().reset_index()
    found[["bound", "paid"]] = found[["bound", "paid"]].div(found["n"], axis=0)
    datasets, costs = [*found["dataset"].unique()], [*found["cost"].unique()]
    figure, axes = panels(len(costs), 3, (2.55, 1.2 + 0.36 * len(datasets)), sharey=True)
    looks = {"mirrored": ("#0072B2", "truth points learned"), "swapped": ("#D55E00", "roles as worded")}
    for ax, cost in zip(axes, costs, strict=True):
        for (name, (colour, _)), shift in zip(looks.items(), (-0.14, 0.14), strict=True):
            part = found[(found["cost"] == cost) & (found["roles"] == name)]
            at = np.array([datasets.index(one) for one in part["dataset"]]) + shift
            ax.hlines(at, part["paid"], part["bound"], color=colour, linewidth=1.4, alpha=0.5)
            ax.plot(part["paid"], at, "o", color=colour, markersize=6)
            ax.plot(part["bound"], at, "|", color=colour, markersize=11, markeredgewidth=2)
        ax.set_title(heading_of(cost)[:-2])
        ax.set_xscale("log")
        low, high = ax.get_xlim()
        ticks = [tick for tick in (0.2, 0.5, 1, 2, 5, 10, 20, 50) if low <= tick <= high]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        ax.minorticks_off()
    axes[0].set_yticks(range(len(datasets)), datasets)
    axes[0].set_ylim(len(datasets) - 0.5, -0.5)
    figure.supxlabel("mean cost of test rows (dot), and mean of the bound (bar)", fontsize=9, color="#444444")
    handles = [
        Line2D([], [], color=colour, marker="o", linewidth=1.4, markersize=6, label=label)
        for colour, label in looks.values()
    ]
    legend_above(figure, handles)
    sums = found.groupby("roles")[["n", "broken"]].sum()
    splits = frame["repetition"].nunique()
    times = frame.groupby("roles")["times"].median()
    said = []
    for name, label in (("mirrored", "With truth points learned"), ("swapped", "With the roles as worded")):
        n, broken = (int(number) for number in sums.loc[name])
        said.append(
            f"{label}, the cost is above the bound on {broken:,} of {n:,} rows{_at_costs(found, name)}; where a row "
            f"costs anything, the bound is {times[name]:.1f} times the cost in the median."
        )
    wide = found.pivot(index=["cost", "dataset"], columns="roles", values=["bound", "paid"])
    lower = wide["bound", "swapped"] < wide["bound", "mirrored"]
    dearer = wide["paid", "swapped"] > wide["paid", "mirrored"]
    at_rank = wide.index.get_level_values("cost") == "rank"
    said.append(
        f"The roles as worded have the lower mean bound in {lower.sum()} of {len(wide)} cells. In rank loss they have "
        f"it in {lower[at_rank].sum()} of {at_rank.sum()}, and the higher mean cost in {dearer[at_rank].sum()}."
    )
    return Claim(
        figure,
        "Mean cost of test rows and mean of Theorem 1's bound, for both ways to use the roles",
        f"From [bound.json]({_from_docs(BOUND)}), made by `{made['made by']}`: {plural(len(datasets), 'dataset')}, "
        f"{plural(splits, 'repetition')} each, full trees; test rows whose label vector occurs in training, as others "
        "have no point.",
        said,
    )


def _at_costs(found: pd.DataFrame, roles: str) -> str:
    costs = found[(found["roles"] == roles) & (found["broken"] > 0)]["cost"].unique()
    return f", all of {listed([*map(_cost_named, costs)])}" if len(costs) else ""


def _cost_named(cost: str) -> str:
    return "rank loss" if cost == "rank" else heading_of(cost)[:-2]


# ---------------------------------------------------------------- tables of the page


REPORTS = {
    "table2": "Table 2: every cell with print beside it, tests and ranks; differences from print with reasons",
    "table3": "Table 3: macro F1, micro F1 and subset accuracy, on the published files",
    "lsdr": "Figures on fewer dimensions than labels, under F1, accuracy and rank loss",
    "lsde": "Figures on more dimensions than labels",
    "candidates": "Figures on smaller and larger candidate sets",
    "peeping": "Figures on S_tr against S_all",
    "times": "Figure of running times: training, prediction and both",
}


def reports() -> Claim:
    lines = []
    for name in EXPERIMENTS:
        own = evidence(name)
        links = []
        for folder, words in (("results", "present"), ("results/earlier", "earlier version")):
            path = ROOT / folder / name / f"{name}.md"
            if path.exists():
                links.append(f"[{words}]({_from_docs(path)})")
        used = "of an earlier version" if own.is_earlier else "of the present version"
        spec = f"[{name}.toml](../experiments/paper/{name}.toml)"
        lines.append(f"| {REPORTS[name]} | {spec} | {' · '.join(links)} | {used} |")
    path = ROOT / "results" / "wording" / "wording.md"
    if path.exists():
        spec = "[wording.toml](../experiments/choices/wording.toml)"
        what = "Roles and square root, as worded and not"
        lines.append(f"| {what} | {spec} | [present]({_from_docs(path)}) | of the present version |")
    head = "| what it shows | experiment | reports | pictures above are |\n" + "|---" * 4
    return Claim(None, "", "", [], f"{head}|\n" + "\n".join(lines))


def gaps() -> Claim:
    """Trials that are missing, and the hours that they would take."""
    lines, total = [], 0.0
    for name in EXPERIMENTS:
        plan = make_plan(read_spec(ROOT / "experiments" / "paper" / f"{name}.toml"))
        records = Store(ROOT / "results" / name).records()
        left = [trial for trial in plan.trials if not is_done(records.get(trial.key))]
        hours = estimate(left, sizes_of(plan.spec), records.values()) / 3600
        total += hours
        lacking = missing(plan, records)
        by_dataset: Counter[str] = Counter()
        for trial in left:
            by_dataset[trial.dataset] += 1
        if len(left) == len(plan.trials):
            where = "all"
        else:
            where = ", ".join(f"{dataset} {number:,}" for dataset, number in by_dataset.items()) or "none"
        done = lacking.planned - lacking.missing
        lines.append(f"| {name} | {lacking.planned:,} | {done:,} | {where} | {_hours(hours)} |")
    head = "| experiment | trials planned | done | missing, by dataset | hours of one core |\n" + "|---" * 5
    table = f"{head}|\n" + "\n".join(lines)
    return Claim(None, "", "", [f"All that is missing would take roughly {_hours(total)} hours of one core."], table)


def _hours(hours: float) -> str:
    return f"{hours:.1f}" if hours < 10 else f"{hours:,.0f}"


CLAIMS: dict[str, Callable[[], Claim]] = {
    "cft": cft,
    "pcc": pcc,
    "default": default,
    "print": print_beside,
    "sensitive": sensitive,
    "rank": rank_loss,
    "blank": blank,
    "lsdr": below,
    "sleec": sleec,
    "lsde": beyond,
    "candidates": candidates,
    "peeping": peeping,
    "dimension": dimension,
    "times": times,
    "table3": indirect,
    "direct": direct,
    "theorem": theorem,
    "roles": roles,
    "root": root,
    "reports": reports,
    "missing": gaps,
}


def renewed(page: str, name: str, text: str) -> str:
    """Return a page with what a claim says between its comments."""
    before, mark, rest = page.partition(START.format(name))
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{PAGE} has no place for {name}: {START.format(name).strip()} ... {END.strip()}")
    return f"{before}{mark}\n{text}\n\n{end}{after}"


def save(figure: Any, path: Path) -> None:
    """Write a picture on white; the same picture is the same file."""
    with replacing(path) as out:
        figure.savefig(out, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="measure Theorem 1's bound first; needs CLEMS_DATA")
    if parser.parse_args().measure:
        BOUND.write_text(json.dumps(measure_bound(), indent=1) + "\n")
    mpl.use("agg")
    plt.style.use("clems.figures")
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "clems", **STYLE}
    page = PAGE.read_text()
    for name, make in CLAIMS.items():
        claim = make()
        if claim.figure is not None:
            save(claim.figure, FIGURES / f"paper-{name}.svg")
        page = renewed(page, name, claim.text(name))
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
