"""Theorem 1's bound, measured on splits of the experiment on wording: bound.json."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from clems import CLEMS, COSTS
from clems.experiments import make_plan, read_spec
from clems.experiments.trial import parts_of
from clems.labels.matrix import as_dense
from tools.paper_claims.records import ROOT, spec_of

BOUND = ROOT / "results" / "wording" / "bound.json"


def write_bound() -> None:
    """Measure the bound and write what was found."""
    BOUND.write_text(json.dumps(measure_bound(), indent=1) + "\n")


def measure_bound(splits: int = 3) -> dict[str, Any]:
    """Measure how often the bound holds, for both ways to use the roles."""
    spec = read_spec(spec_of("wording"))
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
    cost, bound = _cost_and_bound(model, X, Y)
    wrong = cost > 0
    return {
        "n": len(cost),
        "broken": int((cost > bound + 1e-9).sum()),
        "bound": float(bound.mean()),
        "paid": float(cost.mean()),
        "times": float(np.median(bound[wrong] / cost[wrong])),
    }


def _cost_and_bound(model: CLEMS, X: Any, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cost and bound of each row whose label vector is embedded."""
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
    return cost, 5 * (embedding_error + regression_error)
