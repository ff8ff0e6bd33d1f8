"""Learners compared in every row of results, by the repetitions that both have: tests, and rows counted by verdict.

The test is the corrected resampled t-test, with Holm's correction for the rivals of a row. Rows in which two learners
have fewer than two repetitions in common do not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from clems.experiments.analysis.naming import criterion_named, heading_of
from clems.experiments.analysis.selection import ROW
from clems.experiments.analysis.significance import ALPHA, corrected_interval, corrected_t_test, holm
from clems.experiments.output.printed import read_printed
from tools.paper_claims.records import Evidence

VERDICTS = {  # of one learner against another in a row, and what a legend says
    "ahead": "better, significantly",
    "better": "better",
    "same": "the same",
    "worse": "worse",
    "behind": "worse, significantly",
}
FLIPPED = dict(zip(VERDICTS, reversed(VERDICTS), strict=True))
# Of a duel: percent by which the learner is better, low and high of its 95 % interval, and a key of VERDICTS.
DUEL = [*ROW, "rival", "pairs", "percent", "low", "high", "verdict"]


def duels(frame: pd.DataFrame, one: str, rivals: Sequence[str], unit: str | None = None) -> pd.DataFrame:
    """Compare a learner with each of its rivals in every row; percents are of the mean of the rival, or of `unit`."""
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
    return pd.DataFrame(lines, columns=DUEL)


def _verdict(gained: float, sure: bool) -> str:
    """A key of `VERDICTS`."""
    if abs(gained) < 1e-12:
        return "same"
    return ("ahead" if sure else "better") if gained > 0 else ("behind" if sure else "worse")


def against_position(frame: pd.DataFrame, base: float) -> pd.DataFrame:
    """Compare a learner at each position x with itself at another one."""
    named = frame.assign(learner=frame["x"].map("{:g}".format), x=np.nan)
    others = [name for name in named["learner"].unique() if name != f"{base:g}"]
    found = duels(named, f"{base:g}", others, unit=f"{base:g}")
    turned = found.assign(
        x=found["rival"].astype(float),
        percent=-found["percent"],
        low=-found["high"],
        high=-found["low"],
        verdict=found["verdict"].map(FLIPPED),
    )
    at_base = turned.drop_duplicates(["dataset", "criterion"]).assign(
        x=base, rival=f"{base:g}", percent=0.0, low=0.0, high=0.0, verdict="base"
    )
    return pd.concat([turned, at_base], ignore_index=True)


def mean_ranks(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean rank of each learner over the datasets that all have: learners in rows, criteria in columns; 1 is best."""
    ranks = {}
    for criterion, own in frame.groupby("criterion", sort=False):
        means = criterion_named(str(criterion)).sign * own.groupby(["dataset", "learner"])["value"].mean().unstack()
        ranks[criterion] = means.dropna().rank(axis=1, ascending=False).mean()
    found = pd.DataFrame(ranks)
    return found.loc[found.mean(axis=1).sort_values(kind="stable").index]


def over_datasets(frame: pd.DataFrame, one: str, rival: str) -> dict[str, tuple[int, int, float]]:
    """By criterion: on how many datasets a learner is better than a rival, of how many, and Wilcoxon's two-sided p.

    The test is of the percents by which it is better, one for each dataset.
    """
    found = duels(frame, one, [rival])
    gains = {str(criterion): own["percent"].to_numpy() for criterion, own in found.groupby("criterion", sort=False)}
    return {name: (int((own > 0).sum()), len(own), float(wilcoxon(own).pvalue)) for name, own in gains.items()}


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


def label_of(own: Evidence, criterion: str, rival: str) -> str:
    """What a bar of a criterion and a rival is called."""
    return f"{heading_of(criterion)}, against {own.title(rival)}"


def grouped(own: Evidence, found: pd.DataFrame, pairs: Iterable[tuple[str, str]]) -> dict[str, pd.DataFrame]:
    """Rows of each criterion and rival, by what a bar of them is called."""
    return {
        label_of(own, criterion, rival): found[(found["rival"] == rival) & (found["criterion"] == criterion)]
        for criterion, rival in pairs
    }


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


def signed(value: float) -> str:
    """A difference with its sign, zero without one."""
    text = f"{value:+.1f}".replace("-", "−")
    return "0.0" if text[1:] == "0.0" else text
