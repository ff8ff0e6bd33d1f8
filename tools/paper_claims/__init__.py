"""The claims of the paper, in the order of the page: `CLAIMS`, the registry.

From records to the page: ``records`` finds which of them stand for an experiment, ``counting`` compares learners in
them, ``drawing`` and ``bars`` draw, and ``page`` writes. Each other file has the claims of a section of docs/paper.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tools.paper_claims import (
    against_print,
    candidates,
    cost_sensitive,
    embeddings,
    other_criteria,
    reports,
    theorem,
    times,
    wording,
)
from tools.paper_claims.page import Claim

CLAIMS: dict[str, Callable[[], Claim]] = {
    "cft": partial(cost_sensitive.against, "cft"),
    "pcc": partial(cost_sensitive.against, "pcc"),
    "default": cost_sensitive.first_places,
    "print": against_print.against_print,
    "sensitive": cost_sensitive.sensitive,
    "rank": cost_sensitive.rank_loss,
    "blank": cost_sensitive.blank,
    "lsdr": embeddings.below,
    "sleec": embeddings.sleec,
    "lsde": embeddings.beyond,
    "candidates": candidates.candidates,
    "peeping": candidates.peeping,
    "dimension": candidates.dimension,
    "times": times.times,
    "table3": other_criteria.indirect,
    "direct": other_criteria.direct,
    "theorem": theorem.theorem,
    "roles": partial(wording.wording, "swapped", "Roles as the paper's text has them"),
    "root": partial(wording.wording, "identity", "Distances that are costs, without the square root"),
    "reports": reports.reports,
    "missing": reports.gaps,
}
