"""The tables at the end of the page: reports on all experiments of the paper, and what is missing of them."""

from __future__ import annotations

from collections import Counter

from clems.experiments import Store, make_plan, read_spec
from clems.experiments.analysis.completeness import is_done, missing
from clems.experiments.estimate import estimate, sizes_of
from tools.paper_claims.page import Claim, table
from tools.paper_claims.records import ROOT, evidence, from_docs, spec_of

REPORTS = {  # of the paper's experiments
    "table2": "Table 2: every cell with print beside it, tests and ranks; differences from print with reasons",
    "table3": "Table 3: macro F1, micro F1 and subset accuracy, on the published files",
    "lsdr": "Figures on fewer dimensions than labels, under F1, accuracy and rank loss",
    "lsde": "Figures on more dimensions than labels",
    "candidates": "Figures on smaller and larger candidate sets",
    "peeping": "Figures on S_tr against S_all",
    "times": "Figure of running times: training, prediction and both",
}
WORDING = "Roles and square root, as worded and not"


def reports() -> Claim:
    """Reports on the experiments, and which of them the pictures of the page are of."""
    head = ("what it shows", "experiment", "reports", "pictures above are")
    rows = [_report(name, what) for name, what in (REPORTS | {"wording": WORDING}).items()]
    return Claim(None, "", "", [], table(head, rows))


def _report(name: str, what: str) -> tuple[str, ...]:
    """Row of an experiment."""
    folders = {"present": ROOT / "results" / name, "earlier version": ROOT / "results" / "earlier" / name}
    files = {words: folder / f"{name}.md" for words, folder in folders.items()}
    links = [f"[{words}]({from_docs(path)})" for words, path in files.items() if path.exists()]
    used = "of an earlier version" if evidence(name).is_earlier else "of the present version"
    return what, f"[{name}.toml]({from_docs(spec_of(name))})", " · ".join(links), used


def gaps() -> Claim:
    """Trials that are missing, and the hours that they would take."""
    head = ("experiment", "trials planned", "done", "missing, by dataset", "hours of one core")
    found = [_gap(name) for name in REPORTS]
    rows = [(*row, _rounded(hours)) for *row, hours in found]
    total = sum(hours for *_, hours in found)
    said = f"All that is missing would take roughly {_rounded(total)} hours of one core."
    return Claim(None, "", "", [said], table(head, rows))


def _gap(name: str) -> tuple[str, str, str, str, float]:
    """Experiment, trials planned, done and missing, and hours that these would take."""
    plan, records = make_plan(read_spec(spec_of(name))), Store(ROOT / "results" / name).records()
    left = [trial for trial in plan.trials if not is_done(records.get(trial.key))]
    hours = estimate(left, sizes_of(plan.spec), records.values()) / 3600
    by_dataset = Counter(trial.dataset for trial in left)
    where = ", ".join(f"{dataset} {number:,}" for dataset, number in by_dataset.items()) or "none"
    lacking = missing(plan, records)
    done = lacking.planned - lacking.missing
    return name, f"{lacking.planned:,}", f"{done:,}", "all" if len(left) == len(plan.trials) else where, hours


def _rounded(hours: float) -> str:
    """Hours, with a decimal if they are few."""
    return f"{hours:.1f}" if hours < 10 else f"{hours:,.0f}"
