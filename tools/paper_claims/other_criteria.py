"""Claims on other criteria: CLEMS in Table 3, trained for accuracy and for the criterion itself."""

from __future__ import annotations

from itertools import product

import pandas as pd

from tools.paper_claims.bars import figure_of_bars
from tools.paper_claims.counting import beside_print, duels, grouped, in_words, label_of
from tools.paper_claims.page import Claim
from tools.paper_claims.records import evidence


def indirect() -> Claim:
    """CLEMS for accuracy, judged by criteria that it was not trained for."""
    own = evidence("table3")
    others = own.planned("br", "cc", "pcc-f1", "pcc-rank")
    found = duels(own.results, "clems-accuracy", others)
    pairs = [(criterion, rival) for rival, criterion in product(others, own.criteria)]
    beside = {label_of(own, name, rival): beside_print(own, "clems-accuracy", rival, name) for name, rival in pairs}
    plain, chains = (found[found["rival"].isin(["br", "cc"]) == wanted] for wanted in (True, False))
    title = "CLEMS for accuracy, nearest: datasets of Table 3"
    return Claim(
        figure_of_bars(grouped(own, found, pairs), title, beside),
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
    others = own.planned("clems-f1", "clems-accuracy", "clems-rank")
    found = duels(own.results, "clems", others)
    subset = found[(found["criterion"] == "zero_one") & (found["rival"] == "clems-accuracy")]
    return Claim(
        figure_of_bars(grouped(own, found, product(own.criteria, others)), "Trained for the criterion itself"),
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
