"""Plans and records made up for tests of what is read off them."""

from types import SimpleNamespace

import numpy as np

from clems.experiments.analysis.selection import results


def planned(learner, dataset="d", repetition=0, costs=(), parameters="{}", x=None, fixed_cost=None):
    key = f"{learner}/{dataset}/{repetition}/{costs}/{parameters}/{x}"
    trial = SimpleNamespace(dataset=dataset, repetition=repetition, costs=costs, parameters=parameters, key=key)
    return SimpleNamespace(learner=learner, x=x, fixed_cost=fixed_cost, trial=trial)


def make_plan(places, criteria=("f1",), without_rule=(), **settings):
    learners = dict.fromkeys(one.learner for one in places)
    spec = {
        "title": "A table",
        "kind": "table",
        "printed": None,
        "reasons": None,
        "baseline": None,
        "x_label": "",
        "notes": "",
    }
    spec |= {"criteria": [*criteria], "datasets": [*dict.fromkeys(one.trial.dataset for one in places)]}
    spec["learners"] = {name: SimpleNamespace(title=f"The {name}", notes="", printed_as=None) for name in learners}
    return SimpleNamespace(spec=SimpleNamespace(**spec | settings), planned=places, without_rule={*without_rule})


def decision(test, validation=None, cost=None, depth=None):
    return {"cost": cost, "depth": depth, "validation": validation, "test": test}


def record(*decisions, fit=1.0, predict=0.5, parameters=None):
    seconds, rows = {"fit": fit, "predict": predict}, {"train": 50, "validation": 25, "test": 25}
    made = {"status": "done", "decisions": [*decisions], "parameters": parameters or {}}
    return made | {"seconds": seconds, "rows": rows}


FAILED = {"status": "failed", "error": "ValueError: too few rows.", "parameters": {}, "seconds": {"fit": 0.1}}


def make_results(values, criterion="f1", without_rule=()):
    """Results, plan and records from values by (dataset, learner), a list over repetitions; None is missing."""
    places, records = [], {}
    for (dataset, learner), own in values.items():
        for repetition, value in enumerate(own):
            places.append(planned(learner, dataset, repetition))
            if value is not None:
                records[places[-1].trial.key] = record(decision({criterion: value}))
    plan = make_plan(places, [criterion], without_rule)
    return results(plan, records), plan, records


LEARNERS = ["alpha", "beta", "gamma_1"]
POSITIONS = {"alpha": [1.2, 1.6], "beta": [2.0, 4.0]}  # and gamma has none


def made_store(datasets="pqr", criteria=("f1", "rank"), positions=None, repetitions=4, **settings):
    """A plan and all of its records, with noise around levels of learners."""
    rng = np.random.default_rng(0)
    places, records = [], {}
    for dataset in datasets:
        for repetition in range(repetitions):
            shared = rng.normal(0, 0.05)
            for level, learner in enumerate(LEARNERS):
                for x in (positions or {}).get(learner, [None]):
                    places.append(planned(learner, dataset, repetition, x=x))
                    value = 0.3 + 0.1 * level + shared + rng.normal(0, 0.02)
                    seconds = {"fit": float(np.exp(rng.normal(level))), "predict": 0.1 + level}
                    test = {"f1": value, "rank": 3 * value}
                    records[places[-1].trial.key] = record(decision(test), **seconds)
    return make_plan(places, criteria, **settings), records


def rows_of(markdown):
    lines = [line.strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines[2:]]
