"""Claims on cost-sensitive learners: who is better than whom in the rows of Table 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from clems.experiments.analysis.naming import heading_of, listed
from clems.experiments.analysis.standing import Standing, standings
from clems.experiments.output.printed import read_printed
from tools.paper_claims.bars import figure_of_bars, legend_below, stack, without_frame
from tools.paper_claims.counting import beside_print, duels, grouped, in_words, mean_ranks, over_datasets
from tools.paper_claims.drawing import COLOURS, OURS, dot, figure_of_rows, interval, legend_above, line, log_scale
from tools.paper_claims.page import Claim, table
from tools.paper_claims.records import Evidence, evidence

STANDINGS = {"first": "#0072B2", "not significantly behind the first": "#A9CFE6", "behind": "#EEEEEE"}
PRINTED = {"marker": "D", "linestyle": "", "markerfacecolor": "white", "markeredgecolor": "#777777", "markersize": 6}
UNPRINTED = ("accuracy", "composition")  # of PCC


def sensitive() -> Claim:
    """Cost-sensitive learners against those that are not."""
    own, names, plain = evidence("table2"), ("clems-nearest", "pcc", "cft"), ("br", "cc")
    found = {name: duels(own.results, name, plain) for name in names}
    groups = {
        f"{own.title(name)} against {own.title(rival)}": found[name][found[name]["rival"] == rival]
        for name, rival in product(names, plain)
    }
    said = "; ".join(f"{own.title(name)} is {in_words(found[name], 'comparisons')}" for name in names)
    return Claim(
        figure_of_bars(groups, "Rows of Table 2, all four criteria"),
        "In how many rows of Table 2 each cost-sensitive learner is better than BR and CC",
        own.caption(own.of(*plain, *names)),
        [f"Against BR and CC, {said}. A comparison is of a dataset and a criterion with one of both."],
    )


def against(rival: str) -> Claim:
    """The paper's CLEMS against another cost-sensitive learner, by criterion."""
    own = evidence("table2")
    found = duels(own.results, "clems-nearest", [rival])
    groups = {heading_of(name): found[found["criterion"] == name] for name in own.criteria}
    beside = {heading_of(name): beside_print(own, "clems-nearest", rival, name) for name in own.criteria}
    at_rank, others = found[found["criterion"] == "rank"], found[found["criterion"] != "rank"]
    other = own.title(rival)
    return Claim(
        figure_of_bars(groups, f"CLEMS, nearest, against {other}: datasets of Table 2", beside),
        f"On how many datasets the paper's algorithm is better than {other}, by criterion, and in print",
        own.caption(own.of(rival, "clems-nearest")),
        [
            f"Under F1, accuracy and composition loss, the paper's algorithm is {in_words(others)}; in rank loss it "
            f"is {in_words(at_rank)}."
        ],
    )


def rank_loss() -> Claim:
    """Rank loss of CLEMS beside that of PCC."""
    own = evidence("table2")
    frame = own.results[own.results["criterion"] == "rank"]
    found = {name: duels(frame, name, ["pcc"]) for name in OURS}
    return Claim(
        _figure_of_rank_loss(own, found),
        "Rank loss of the paper's CLEMS and of default CLEMS as multiples of PCC's, by dataset",
        f"{own.caption(frame[frame['learner'].isin([*OURS, 'pcc'])])} Lines are 95 % intervals.",
        [
            f"In print, CLEMS's rank loss against PCC's is {beside_print(own, 'clems-nearest', 'pcc', 'rank')} "
            "datasets.",
            f"Ours, {own.title('clems-nearest')} is {in_words(found['clems-nearest'])}, and default CLEMS is "
            f"{in_words(found['clems'])}.",
        ],
    )


def _figure_of_rank_loss(own: Evidence, found: Mapping[str, pd.DataFrame]) -> Any:
    """Ratios to PCC's rank loss with intervals, and the printed ratio, a row for each dataset."""
    datasets = [name for name in own.datasets if name in {*found["clems-nearest"]["dataset"]}]
    printed = read_printed(own.plan.spec.printed)
    figure, ax = figure_of_rows(datasets, 1.2, 0.36)
    ax.axvline(1, color=COLOURS["pcc"], linewidth=1.5)
    for at, dataset in enumerate(datasets):
        ratio = printed[dataset, "clems-nearest", "rank"][0] / printed[dataset, "pcc", "rank"][0]
        ax.plot(ratio, at, **PRINTED)
        for name, shift in OURS.items():
            for one in found[name][found[name]["dataset"] == dataset].itertuples():
                middle, ends = 1 - one.percent / 100, (1 - one.high / 100, 1 - one.low / 100)
                interval(ax, at + shift, middle, ends, COLOURS[name])
    log_scale(ax, (0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 2.5))
    ax.set_xlabel("rank loss as a multiple of PCC's: further left is better")
    ax.grid(axis="x")
    ours = [dot(COLOURS[name], own.title(name)) for name in OURS]
    pcc = line(COLOURS["pcc"], "PCC", linewidth=1.5)
    legend_above(figure, [dot("#777777", "CLEMS, in print", **PRINTED), *ours, pcc])
    return figure


def blank() -> Claim:
    """PCC under the criteria that the paper leaves blank."""
    own, others = evidence("table2"), ("clems-nearest", "cft", "clems")
    found = duels(own.results[own.results["criterion"].isin(UNPRINTED)], "pcc", others)
    used = own.of("pcc", *others)
    return Claim(
        figure_of_bars(grouped(own, found, product(UNPRINTED, others)), "PCC, where the paper leaves it blank"),
        "On how many datasets PCC is better than others under accuracy and composition loss",
        own.caption(used[used["criterion"].isin(UNPRINTED)]),
        [
            f"Over both criteria, PCC against {own.title(name)} is {in_words(found[found['rival'] == name])}."
            for name in others
        ],
    )


def first_places() -> Claim:
    """In how many rows each learner is first, or not significantly behind the first."""
    own = evidence("table2")
    found = sorted(standings(own.results).items(), key=lambda item: (-item[1].near / item[1].rows, -item[1].first))
    head = ("learner", "first", "first, or not significantly behind", "rows", "datasets", "repetitions")
    lines = [
        (own.title(name), one.first, one.near, one.rows, one.datasets, listed([*map(str, one.repetitions)]))
        for name, one in found
    ]
    return Claim(
        _figure_of_first_places(own, found),
        "In how many rows of Table 2 each learner is first, or not significantly behind the first",
        own.caption(),
        [
            "Tests are paired, for splits that share rows, with Holm's correction. The fewer the repetitions, the "
            "less a test sees.",
            _against_pcc_over_datasets(own),
        ],
        f"{table(head, lines)}\n\n{_table_of_ranks(own)}",
    )


def _table_of_ranks(own: Evidence) -> str:
    """Mean ranks over datasets, a line for each learner."""
    ranks = mean_ranks(own.results)
    lines = [(own.title(name), *(f"{rank:.2f}" for rank in of_learner)) for name, *of_learner in ranks.itertuples()]
    return table(("mean rank over datasets", *map(heading_of, ranks.columns)), lines)


def _against_pcc_over_datasets(own: Evidence) -> str:
    """Say how default CLEMS and PCC compare with one number for each dataset."""
    said = [
        f"{heading_of(name)[:-2]} on {better} of {n} (p = {p:.2g})"
        for name, (better, n, p) in over_datasets(own.results, "clems", "pcc").items()
    ]
    return f"By Wilcoxon's signed-rank test over datasets, default CLEMS is better than PCC under {listed(said)}."


def _figure_of_first_places(own: Evidence, found: Sequence[tuple[str, Standing]]) -> Any:
    """Shares of rows in which each learner is first, not significantly behind, and behind."""
    figure, ax = figure_of_rows([own.title(name) for name, _ in found], 1.0, 0.3)
    for at, (_, one) in enumerate(found):
        numbers = (one.first, one.near - one.first, one.rows - one.near)
        stack(ax, at, zip(STANDINGS.values(), numbers, strict=True), one.rows)
    without_frame(ax, 1)
    ax.set_title("Rows of Table 2: dataset and criterion")
    legend_below(figure, STANDINGS)
    return figure
