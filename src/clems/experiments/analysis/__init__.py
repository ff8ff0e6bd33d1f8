"""Analysis: from records to results, tests, ranks and times. What compares learners over datasets is in `ANALYSES`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from clems.experiments.analysis.ranking import ranks_in_words
from clems.experiments.analysis.standing import standings_in_words

if TYPE_CHECKING:
    from clems.experiments.plan import Plan

# Each is a function of a plan and its results that returns sentences.
ANALYSES: dict[str, Callable[[Plan, pd.DataFrame], list[str]]] = {
    "standings": standings_in_words,
    "ranks": ranks_in_words,
}
