"""Which BLAS kernels records come from, as single runs depend on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clems.experiments.analysis.completeness import is_done
from clems.experiments.store import Records

if TYPE_CHECKING:
    from clems.experiments.plan import Plan

NOT_RECORDED = "not recorded"


def kernel_of(record: Mapping[str, Any]) -> str:
    """Name the kernels that a trial ran on; older records do not say."""
    names = {f"{one['library']} {one['architecture'] or 'of unknown kernel'}" for one in record.get("blas") or []}
    return " with ".join(sorted(names)) or NOT_RECORDED


def several_kernels(plan: Plan, records: Records) -> list[str]:
    """Say in a sentence that records come from several kernels; nothing where they do not."""
    keys = {one.trial.key for one in plan.planned}
    kernels = Counter(kernel_of(record) for key, record in records.items() if key in keys and is_done(record))
    if len(kernels) < 2:
        return []
    counts = ", ".join(f"{name} ({number:,})" for name, number in kernels.most_common())
    return [f"Records come from several BLAS kernels, on which single runs may depend: {counts}."]
