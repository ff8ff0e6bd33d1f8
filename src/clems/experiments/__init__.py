"""Experiments: a declarative file, its plan, its trials, their records, and what they show."""

from clems.experiments.compare import Comparison, compare
from clems.experiments.loading import read_spec
from clems.experiments.output.report import show_report, write_report
from clems.experiments.plan import Plan, make_plan
from clems.experiments.running import run
from clems.experiments.spec import Spec, SpecError
from clems.experiments.store import Store
from clems.experiments.trial import run_trial

__all__ = [
    "Comparison",
    "Plan",
    "Spec",
    "SpecError",
    "Store",
    "compare",
    "make_plan",
    "read_spec",
    "run",
    "run_trial",
    "show_report",
    "write_report",
]
