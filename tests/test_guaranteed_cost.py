"""GuaranteedCost keeps its promise as often as it says, hands over the right rows, and says what it cannot promise."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from benchmarks.guarantee import CONFIDENCE, costs_of, generated, known, promises, settings
from clems import BR, CLEMS, COSTS, PCC, GuaranteedCost, get_cost, load, save, weighted_hamming
from clems.cli.app import main
from clems.datasets import digit_scenes
from clems.learners.guaranteed_cost import greatest_threshold, is_below, thresholds_between

X, Y = digit_scenes(460, random_state=0)
Y = Y[:, :4]
TRAIN, CALIBRATION, TEST = slice(0, 160), slice(160, 400), slice(400, 460)


@pytest.fixture(scope="module")
def model():
    return CLEMS("f1", n_trees=10, random_state=0).fit(X[TRAIN], Y[TRAIN])


def allowed(times, share=1 - CONFIDENCE):
    """Share of broken promises that is within three standard errors."""
    return share + 3 * np.sqrt(share * (1 - share) / times)


# The promise


@pytest.mark.parametrize("name", ["f1", "accuracy", "rank", "prices"])
@pytest.mark.parametrize("priced", [False, True])
def test_promises_are_kept_as_often_as_promised(name, priced):
    """The benchmark of the same name does this for 10,000 sets."""
    world = generated(costs_of(6)[name])
    level, price = settings(world.mean_cost(np.inf, 0))[priced]
    broken, handed_over, by_hoeffding_bentkus = promises(world, 200, 250, level, price)
    assert broken <= allowed(250)
    best = world.handed_over(known(world, level, price))
    assert best < handed_over < best + 0.3  # a promise that hands over everything would be easy to keep
    assert handed_over < by_hoeffding_bentkus


@pytest.mark.parametrize(("value", "share"), [(1.0, 0.2), (0.5, 0.4), (0.25, 0.8)])
def test_a_mean_at_the_level_is_rarely_taken_for_less(value, share):
    """The hardest case: the mean is the level itself, so every rejection is wrong."""
    random = np.random.default_rng(0)
    losses = value * (random.random((150, 4000)) < share)
    wrong = is_below(losses, value * share, 0.9).mean()
    assert 0.01 < wrong <= allowed(4000)
    assert is_below(0.6 * losses, value * share, 0.9).mean() > 0.9


def test_the_test_is_that_of_the_formulas():
    random = np.random.default_rng(1)
    losses, level, confidence = random.random((40, 30)) ** 4, 0.3, 0.8
    found = []
    for column in losses.T:
        capital, greatest, past, squares = 1.0, 0.0, [], [0.25]
        for loss in column:
            variance = sum(squares) / (len(past) + 1)
            bet = min(1.0, np.sqrt(2 * np.log(1 / (1 - confidence)) / (len(column) * variance)))
            capital *= 1 + bet * (level - loss)
            greatest = max(greatest, capital)
            past.append(loss)
            squares.append((loss - (0.5 + sum(past)) / (len(past) + 1)) ** 2)
        found.append(greatest >= 1 / (1 - confidence))
    assert 0 < np.mean(found) < 1
    assert is_below(losses, level, confidence).tolist() == found


def test_rows_that_are_sorted_by_what_they_cost_break_no_promise():
    """In this order the first rows cost nothing, and bets on them would always win."""
    random, broken = np.random.default_rng(0), 0
    for _ in range(300):
        costs = np.sort((random.random(150) < 0.21).astype(float))
        broken += greatest_threshold(np.zeros(150), costs, level=0.2, confidence=0.9, price=0, bound=1) is not None
    assert broken / 300 <= allowed(300)


def test_the_threshold_is_the_last_of_the_sequence_that_passes():
    random = np.random.default_rng(3)
    expected = random.random(300)
    costs = (random.random(300) < expected).astype(float)
    given = {"level": 0.2, "confidence": 0.9, "price": 0.1, "bound": 1.0}
    found = greatest_threshold(expected, costs, **given)
    shuffled = np.random.default_rng(0).permutation(300)
    passed = []
    for threshold in thresholds_between(0.1, 1.0):
        losses = np.where(expected <= threshold, costs, 0.1)[shuffled]
        if not is_below(losses[:, None], 0.2, 0.9)[0]:
            break
        passed.append(threshold)
    assert found == passed[-1]
    assert 0.1 < found < 1


def test_thresholds_depend_on_no_rows():
    thresholds = thresholds_between(0.0, 8.0)
    assert thresholds[0] == 0
    assert thresholds[-2:].tolist() == [8.0, np.inf]
    assert thresholds[1] == 8.0 / 2**20
    assert (np.diff(thresholds[1:-1]) / thresholds[1:-2] < 0.006).all()
    assert thresholds_between(3.0, 8.0)[0] == 3.0
    assert (np.diff(thresholds_between(3.0, 8.0)) > 0).all()
    assert thresholds_between(9.0, 8.0).tolist() == [9.0, np.inf]


@pytest.mark.parametrize("cost", [*COSTS.values(), weighted_hamming([3, 1, 2, 5], [1, 4, 2, 0])], ids=lambda c: c.name)
def test_the_greatest_cost_is_that_of_all_pairs(cost):
    vectors = np.array([*product([0, 1], repeat=4)], np.uint8)
    assert cost.bound(4) == pytest.approx(cost.pairwise(vectors, vectors).max())


def test_the_greatest_cost_of_a_function_is_not_known():
    assert get_cost(lambda Y, P: (Y != P).sum(axis=1)).bound(4) is None


# What it predicts


@pytest.mark.parametrize("cost", [None, "rank"])
@pytest.mark.parametrize("learner", [CLEMS, PCC])
def test_rows_of_a_greater_expected_cost_are_handed_over(learner, cost):
    fitted = learner("f1", n_trees=5, random_state=0).fit(X[TRAIN], Y[TRAIN])
    level = {None: 0.25, "rank": 0.8}[cost]
    safe = GuaranteedCost(fitted, level, cost=cost).fit(X[CALIBRATION], Y[CALIBRATION])
    expected = fitted.expected_cost(X[TEST], cost)
    predicted = safe.predict(X[TEST])
    assert isinstance(predicted, np.ma.MaskedArray)
    assert np.array_equal(predicted.data, fitted.predict(X[TEST], cost))
    assert predicted.dtype == Y.dtype
    assert np.array_equal(predicted.mask, np.repeat((expected > safe.threshold_)[:, None], 4, axis=1))
    assert 0 < predicted.mask.mean() < 1
    held_out = fitted.expected_cost(X[CALIBRATION], cost) > safe.threshold_
    costs = get_cost(cost or "f1").rowwise(Y[CALIBRATION], fitted.predict(X[CALIBRATION], cost))
    assert safe.share_handed_over_ == pytest.approx(held_out.mean())
    assert safe.calibration_cost_ == pytest.approx(np.where(held_out, 0, costs).mean())
    assert safe.calibration_cost_ < level
    assert safe.n_calibration_ == 240
    assert safe.bound_ == get_cost(cost or "f1").bound(4)


def test_less_is_handed_over_for_a_higher_level_and_a_lower_confidence(model):
    def share(**given):
        return GuaranteedCost(model, **given).fit(X[CALIBRATION], Y[CALIBRATION]).share_handed_over_

    assert share(level=0.1) > share(level=0.2) > share(level=0.3)
    assert share(level=0.2, confidence=0.99) > share(level=0.2, confidence=0.6)
    assert share(level=1.0) == 0


def test_a_price_counts(model):
    safe = GuaranteedCost(model, 0.3, price=0.2).fit(X[CALIBRATION], Y[CALIBRATION])
    free = GuaranteedCost(model, 0.3).fit(X[CALIBRATION], Y[CALIBRATION])
    assert safe.share_handed_over_ > free.share_handed_over_
    assert safe.threshold_ >= 0.2  # handing over what is expected to cost less does not pay
    decided = model.expected_cost(X[CALIBRATION]) <= safe.threshold_
    costs = get_cost("f1").rowwise(Y[CALIBRATION], model.predict(X[CALIBRATION]))
    assert safe.calibration_cost_ == pytest.approx(np.where(decided, costs, 0.2).mean())


def test_labels_in_every_form():
    names = ["nil", "one", "two", "three"]
    sets = [{names[k] for k in np.flatnonzero(row)} for row in Y]
    frame = pd.DataFrame(Y, columns=names)
    features = pd.DataFrame(X, columns=[f"p{k}" for k in range(X.shape[1])])
    thresholds = []
    for labels, pick in (
        (frame, lambda rows: frame.iloc[rows]),
        (sets, lambda rows: sets[rows]),
        (sparse.csr_array(Y), lambda rows: sparse.csr_array(Y[rows])),
    ):
        fitted = CLEMS("f1", n_trees=5, random_state=0).fit(features.iloc[TRAIN], pick(TRAIN))
        safe = GuaranteedCost(fitted, 0.25).fit(features.iloc[CALIBRATION], pick(CALIBRATION))
        thresholds.append(len(safe.classes_) * [safe.threshold_] if labels is not sets else [])
        assert safe.predict(features.iloc[TEST]).shape == (60, 4)
        assert safe.n_features_in_ == X.shape[1]
        assert safe.feature_names_in_[0] == "p0"
    assert thresholds[0] == thresholds[2]


class Sure:
    """A model of someone else's: it predicts the first labels of all, and says what that costs."""

    def predict(self, X):
        return np.tile([1, 0, 0, 0], (len(X), 1))

    def expected_cost(self, X):
        return np.asarray(X)[:, 0] * 0.7


def test_any_model_that_knows_what_it_expects():
    rows = np.arange(300)[:, None] / 300
    truth = np.tile([1, 0, 0, 0], (300, 1))
    truth[200:] = [0, 1, 1, 0]
    safe = GuaranteedCost(Sure(), 0.1, cost="hamming").fit(rows, truth)
    assert 200 / 300 * 0.7 < safe.threshold_ < 260 / 300 * 0.7
    assert safe.predict([[0.0], [0.99]]).mask[:, 0].tolist() == [False, True]
    with pytest.raises(ValueError, match="Sure is no learner of clems, so cost must be given"):
        GuaranteedCost(Sure(), 0.1).fit(rows, truth)
    with pytest.raises(ValueError, match="expected_cost of Sure must return a finite number for each row"):
        safe.predict([[np.nan]])


# What it refuses, and what it says


def test_what_cannot_be_promised_is_said(model):
    few = X[160:170], Y[160:170]
    with pytest.warns(
        UserWarning,
        match=r"mean f1 of at most 0\.1 per row cannot be promised with a confidence of 0\.9 by "
        r"10 calibration rows.* At least 25 are needed, even if no row costs anything\. All rows are handed over\.",
    ):
        safe = GuaranteedCost(model, 0.1).fit(*few)
    assert safe.threshold_ == -np.inf
    assert safe.share_handed_over_ == 1
    assert safe.predict(X[TEST]).mask.all()
    before = vars(safe).copy()
    safe.price = 0.2
    with pytest.raises(ValueError, match=r"cannot be promised.*at a price of 0\.2\."):
        safe.fit(*few)
    assert {**before, "price": 0.2} == vars(safe)
    with pytest.warns(UserWarning, match="No number of rows is enough for a level of 0. All rows are handed over"):
        GuaranteedCost(model, 0.0).fit(X[CALIBRATION], Y[CALIBRATION])


def test_as_many_rows_are_needed_as_it_says(model):
    """With rows that cost nothing, one row fewer than needed promises nothing."""
    for level, confidence in ((0.1, 0.9), (0.3, 0.95)):
        needed = int(np.ceil(np.log(1 / (1 - confidence)) / np.log1p(level)))
        given = {"level": level, "confidence": confidence, "price": 0.0, "bound": 1.0}
        assert greatest_threshold(np.zeros(needed - 1), np.zeros(needed - 1), **given) is None
        assert greatest_threshold(np.zeros(3 * needed), np.zeros(3 * needed), **given) == np.inf


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"level": -1}, "level must be a finite number of at least 0; got -1"),
        ({"level": "low"}, "level must be a finite number"),
        ({"price": np.inf}, "price must be a finite number"),
        ({"confidence": 1}, "confidence must be above 0 and below 1, such as 0.9; got 1"),
        ({"confidence": 0}, "confidence must be above 0 and below 1"),
        ({"bound": 0.2}, r"Calibration row \d+ costs 1, more than the bound of 0.2"),
        ({"cost": "micro_f1"}, "micro_f1 is no cost of single rows, so nothing can be promised of it"),
    ],
)
def test_wrong_parameters_get_a_sentence(model, given, message):
    with pytest.raises(ValueError, match=message):
        GuaranteedCost(model, **given).fit(X[CALIBRATION], Y[CALIBRATION])


def off_by(truth, prediction):
    return (truth != prediction).sum(axis=1)


def test_a_function_needs_a_bound(model):
    given = {"level": 0.7, "cost": off_by}
    with pytest.raises(
        ValueError, match=r"The greatest cost that a row can have is not known of 'off_by'; give it as bound="
    ):
        GuaranteedCost(model, **given).fit(X[CALIBRATION], Y[CALIBRATION])
    safe = GuaranteedCost(model, **given, bound=4).fit(X[CALIBRATION], Y[CALIBRATION])
    assert 0 < safe.share_handed_over_ < 1


def test_models_that_cannot_be_asked_are_refused(model):
    rows = X[CALIBRATION], Y[CALIBRATION]
    with pytest.raises(ValueError, match="with predict and expected_cost, such as CLEMS or PCC; got BR"):
        GuaranteedCost(BR(n_trees=3).fit(X[TRAIN], Y[TRAIN])).fit(*rows)
    with pytest.raises(NotFittedError, match="The model of GuaranteedCost, CLEMS, is not fitted"):
        GuaranteedCost(CLEMS()).fit(*rows)
    with pytest.raises(NotFittedError, match="unless the model is wrapped in FrozenEstimator"):
        clone(GuaranteedCost(model)).fit(*rows)
    with pytest.raises(NotFittedError):
        GuaranteedCost(model).predict(X[TEST])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GuaranteedCost(model).fit(X[CALIBRATION], Y[TEST])


def test_it_is_an_estimator(model):
    frozen = GuaranteedCost(FrozenEstimator(model), 0.25)
    copy = clone(frozen).set_params(confidence=0.8)
    assert copy.get_params(deep=False)["level"] == 0.25
    assert copy.fit(X[CALIBRATION], Y[CALIBRATION]).threshold_ >= frozen.fit(X[CALIBRATION], Y[CALIBRATION]).threshold_
    plain = GuaranteedCost(model, 0.25).fit(X[CALIBRATION], Y[CALIBRATION])
    assert plain.threshold_ == frozen.threshold_
    assert "level=0.25" in repr(plain)


@pytest.mark.parametrize("level", [0.25, 1.0])
def test_it_is_saved_and_loaded(model, level, tmp_path, capsys):
    safe = GuaranteedCost(model, level).fit(X[CALIBRATION], Y[CALIBRATION])
    save(safe, tmp_path / "safe.clems")
    again = load(tmp_path / "safe.clems")
    assert again.threshold_ == safe.threshold_
    assert np.array_equal(again.predict(X[TEST]).filled(9), safe.predict(X[TEST]).filled(9))
    pd.DataFrame(X[TEST]).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(SystemExit):
        main(["predict", str(tmp_path / "safe.clems"), str(tmp_path / "new.csv")])
    assert "holds a GuaranteedCost, which hands rows over" in capsys.readouterr().err
