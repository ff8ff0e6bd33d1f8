"""Plans and records made up for tests of what is read off them."""

from types import SimpleNamespace


def planned(learner, dataset="d", repetition=0, costs=(), parameters="{}", x=None, fixed_cost=None):
    key = f"{learner}/{dataset}/{repetition}/{costs}/{parameters}/{x}"
    trial = SimpleNamespace(dataset=dataset, repetition=repetition, costs=costs, parameters=parameters, key=key)
    return SimpleNamespace(learner=learner, x=x, fixed_cost=fixed_cost, trial=trial)


def make_plan(places, criteria=("f1",), without_rule=(), **settings):
    learners = dict.fromkeys(one.learner for one in places)
    spec = {"title": "A table", "kind": "table", "printed": None, "baseline": None, "x_label": "", "notes": ""}
    spec |= {"criteria": [*criteria], "datasets": [*dict.fromkeys(one.trial.dataset for one in places)]}
    spec["learners"] = {name: SimpleNamespace(title=f"The {name}", notes="") for name in learners}
    return SimpleNamespace(spec=SimpleNamespace(**spec | settings), planned=places, without_rule={*without_rule})


def decision(test, validation=None, cost=None, depth=None):
    return {"cost": cost, "depth": depth, "validation": validation, "test": test}


def record(*decisions, fit=1.0, predict=0.5, parameters=None):
    seconds, rows = {"fit": fit, "predict": predict}, {"train": 50, "validation": 25, "test": 25}
    made = {"status": "done", "decisions": [*decisions], "parameters": parameters or {}}
    return made | {"seconds": seconds, "rows": rows}


FAILED = {"status": "failed", "error": "ValueError: too few rows.", "parameters": {}, "seconds": {"fit": 0.1}}
