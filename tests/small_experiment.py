"""A small dataset, and specs and trials on it."""

from clems.datasets import Dataset, digit_scenes
from clems.experiments.plan import make_plan
from clems.experiments.spec import check_spec
from clems.experiments.trial import Data

SCENES, DIGITS = digit_scenes(160, random_state=0)


NAMES = [f"pixel {i}" for i in range(SCENES.shape[1])], [str(i) for i in range(10)]


DATA = Data(Dataset(SCENES, DIGITS, *NAMES, "scenes"))


PUBLISHED = Data(DATA.whole, 100)


def spec_of(**changes):
    given = {"title": "t", "datasets": ["scenes"], "data": {"scenes": DATA.whole}, "criteria": ["f1"]}
    return check_spec(given | {"learners": {"br": {}}, "trees": 3, "depths": [2, 4]} | changes)


def trial_of(kind, criteria=("f1",), split=None, **parameters):
    plan = make_plan(
        spec_of(learners={kind: {"parameters": parameters}}, criteria=[*criteria], repetitions=1, **split or {})
    )
    return plan.trials[0]
