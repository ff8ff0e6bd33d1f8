"""The claim that Theorem 1 explains why CLEMS is cost-sensitive: its bound beside what is paid."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from clems.experiments.analysis.naming import heading_of, listed
from clems.wording import plural
from tools.paper_claims.bound import BOUND
from tools.paper_claims.drawing import legend_above, line, log_scale, rows_of_panels
from tools.paper_claims.page import Claim
from tools.paper_claims.records import from_docs

LOOKS = {  # of the roles: colour, place beside the middle of a row, label
    "mirrored": ("#0072B2", -0.14, "truth points learned"),
    "swapped": ("#D55E00", 0.14, "roles as worded"),
}


def theorem() -> Claim:
    """How often Theorem 1's bound is broken."""
    made = json.loads(BOUND.read_text())
    frame = pd.DataFrame(made["rows"])
    found = _over_splits(frame)
    return Claim(
        _figure(found),
        "Mean cost of test rows and mean of Theorem 1's bound, for both ways to use the roles",
        f"From [bound.json]({from_docs(BOUND)}), made by `{made['made by']}`: "
        f"{plural(frame['dataset'].nunique(), 'dataset')}, {plural(frame['repetition'].nunique(), 'repetition')} each, "
        "full trees; test rows whose label vector occurs in training, as others have no point.",
        [*_broken(frame, found), _lower(found)],
    )


def _over_splits(frame: pd.DataFrame) -> pd.DataFrame:
    """Counts and means over all rows of all splits, by roles, cost and dataset."""
    sizes = frame[["bound", "paid"]].mul(frame["n"], axis=0)
    cells = frame.assign(**sizes).groupby(["roles", "cost", "dataset"], sort=False)[["n", "broken", "bound", "paid"]]
    found = cells.sum().reset_index()
    found[["bound", "paid"]] = found[["bound", "paid"]].div(found["n"], axis=0)
    return found


def _figure(found: pd.DataFrame) -> Any:
    """A panel for each cost, a row for each dataset: the mean cost and the mean bound of both roles."""
    datasets, costs = [*found["dataset"].unique()], [*found["cost"].unique()]
    size, label = (2.55, 1.2 + 0.36 * len(datasets)), "mean cost of test rows (dot), and mean of the bound (bar)"
    figure, axes = rows_of_panels(len(costs), 3, size, datasets, label)
    for ax, cost in zip(axes, costs, strict=True):
        for name, (colour, shift, _) in LOOKS.items():
            part = found[(found["cost"] == cost) & (found["roles"] == name)]
            at = np.array([datasets.index(one) for one in part["dataset"]]) + shift
            ax.hlines(at, part["paid"], part["bound"], color=colour, linewidth=1.4, alpha=0.5)
            ax.plot(part["paid"], at, "o", color=colour, markersize=6)
            ax.plot(part["bound"], at, "|", color=colour, markersize=11, markeredgewidth=2)
        ax.set_title(heading_of(cost)[:-2])
        log_scale(ax, (0.2, 0.5, 1, 2, 5, 10, 20, 50))
    legend_above(figure, [line(colour, label, marker="o", markersize=6) for colour, _, label in LOOKS.values()])
    return figure


def _broken(frame: pd.DataFrame, found: pd.DataFrame) -> Iterator[str]:
    """Say on how many rows the bound is broken, and how wide it is where it is not."""
    sums = found.groupby("roles")[["n", "broken"]].sum()
    times = frame.groupby("roles")["times"].median()
    for name, label in (("mirrored", "With truth points learned"), ("swapped", "With the roles as worded")):
        n, broken = (int(number) for number in sums.loc[name])
        yield (
            f"{label}, the cost is above the bound on {broken:,} of {n:,} rows{_at_costs(found, name)}; where a row "
            f"costs anything, the bound is {times[name]:.1f} times the cost in the median."
        )


def _at_costs(found: pd.DataFrame, roles: str) -> str:
    """Say of which costs the rows are that break the bound."""
    costs = found[(found["roles"] == roles) & (found["broken"] > 0)]["cost"].unique()
    named = ["rank loss" if cost == "rank" else heading_of(cost)[:-2] for cost in costs]
    return f", all of {listed(named)}" if named else ""


def _lower(found: pd.DataFrame) -> str:
    """Say where the roles as worded have the lower bound, and where they cost more."""
    wide = found.pivot(index=["cost", "dataset"], columns="roles", values=["bound", "paid"])
    lower = wide["bound", "swapped"] < wide["bound", "mirrored"]
    dearer = wide["paid", "swapped"] > wide["paid", "mirrored"]
    at_rank = wide.index.get_level_values("cost") == "rank"
    return (
        f"The roles as worded have the lower mean bound in {lower.sum()} of {len(wide)} cells. In rank loss they have "
        f"it in {lower[at_rank].sum()} of {at_rank.sum()}, and the higher mean cost in {dearer[at_rank].sum()}."
    )
