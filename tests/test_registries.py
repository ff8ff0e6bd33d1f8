"""A toy of each kind is entered from outside the package: one entry in one registry, and all that uses it finds it."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from distributions import brute, every_vector, posterior_of
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from clems import CLEMS, COSTS, CRITERIA, PCC, Posterior, get_cost, get_criterion, load, save
from clems.costs.cost import CountCost
from clems.costs.criteria import LabelCriterion, label_criteria
from clems.costs.formulas import PARAMETRISED, cost
from clems.costs.text import read_cost
from clems.datasets import digit_scenes
from clems.decisions.decide import DECODERS, Decoder
from clems.decisions.rules import RULES, Rule, rule_for
from clems.evaluation import evaluate
from clems.evaluation.report import make_content, render
from clems.posterior.source import SOURCES, Kind, kind_of

X, DIGITS = digit_scenes(200, random_state=0)
Y = DIGITS[:, :5]
TRAIN, TEST = slice(0, 140), slice(140, 200)
REGISTRIES = [SOURCES, DECODERS, RULES, COSTS, PARAMETRISED, CRITERIA]


@pytest.fixture(autouse=True)
def as_they_were():
    """Registries hold, after a test, what they held before, in the same order."""
    before = [dict(registry) for registry in REGISTRIES]
    yield
    for registry, content in zip(REGISTRIES, before, strict=True):
        for name in {*registry} - {*content}:
            del registry[name]
        if isinstance(registry, dict):  # in which order may matter
            registry.clear()
            registry.update(content)


def enter_first(registry, name, entry):
    """Enter something before all others, where order decides."""
    others = dict(registry)
    registry.clear()
    registry.update({name: entry, **others})


def fitted(cost_="f1", learner=CLEMS, **settings):
    settings = {"n_trees": 5} | settings
    return learner(cost_, random_state=0, **settings).fit(X[TRAIN], Y[TRAIN])


def check_evaluation_and_report(model, names=()):
    """All that is measured is measured of it, and a report says it."""
    found = evaluate(model, X[TEST], Y[TEST])
    assert {*names} <= {*found.criteria}
    predicted = model.predict(X[TEST])
    for name in names:
        assert found.criteria[name] == pytest.approx(get_criterion(name)(Y[TEST], predicted))
    content = make_content(model, X[TEST], Y[TEST], n_mistakes=2)
    return render(content)


# A source of posteriors


class Ignorant(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A regressor that does not look at features."""

    def fit(self, X, y):
        self.mean_ = y.mean(axis=0)
        return self

    def predict(self, X):
        return np.tile(self.mean_, (X.shape[0], 1))


@dataclass(frozen=True)
class Frequencies:
    """Reads the same for each row: how frequent candidates are, mixed with a share of all of them alike."""

    frequency: np.ndarray
    alike: int
    labels: np.ndarray
    points: np.ndarray
    embedded: np.ndarray

    def of(self, frequency):
        mixed = frequency / frequency.sum(axis=1, keepdims=True) + self.alike / len(self.labels)
        share = sparse.csr_array(mixed / (1 + self.alike))
        return Posterior(self.labels, share, points=lambda: share @ self.points, embedded=self.embedded)

    def __call__(self, X, n_jobs=None):
        return self.of(np.tile(self.frequency, (X.shape[0], 1)))


@dataclass(frozen=True)
class FrequencySource:
    """Frequencies as a source: a row that is held out does not count."""

    training: object
    rows: np.ndarray
    options: tuple = (1, 0)
    usual: int = 0

    def at(self, alike):
        one = self.training
        return Frequencies(one.frequency, alike, one.labels, one.points, one.embedded)

    def held_out(self, alike):
        own = np.eye(len(self.training.labels))[self.training.groups[self.rows]]
        return self.at(alike).of(self.training.frequency - own)


def enter_source():
    SOURCES["frequencies"] = Kind(
        lambda regressor: isinstance(regressor, Ignorant),
        lambda regressor, training, settings: FrequencySource(training, settings.rows),
        by_folds=False,
    )


def test_a_source():
    assert kind_of(Ignorant()) is SOURCES["distances"]
    enter_source()
    assert kind_of(Ignorant()) is SOURCES["frequencies"]
    model = fitted("zero_one", estimator=Ignorant(), sharpness=1)
    vectors, counts = np.unique(Y[TRAIN], axis=0, return_counts=True)
    posterior = model.posterior(X[TEST])
    assert np.array_equal(posterior.labels, vectors)
    np.testing.assert_allclose(posterior.share.toarray(), np.tile(counts / 140, (60, 1)))
    assert (model.predict(X[TEST]) == vectors[counts.argmax()]).all()
    np.testing.assert_allclose(model.predict_proba(X[TEST]), np.tile(Y[TRAIN].mean(axis=0), (60, 1)))
    np.testing.assert_allclose(model.expected_cost(X[TEST]), 1 - counts.max() / 140)
    # Of a row that has the most frequent vector, the others have it less often by one.
    assert model.oob_cost_ == pytest.approx(1 - counts.max() / 140)
    assert model.depth_ is None
    with pytest.raises(ValueError, match="at_depth needs trees, which Ignorant does not have"):
        model.at_depth(2)
    assert "zero_one" in evaluate(model, X[TEST], Y[TEST]).criteria
    assert "label-map" in check_evaluation_and_report(fitted("f1", estimator=Ignorant()), ["f1"])


def test_a_source_that_has_seen_all_rows_is_held_out_by_folds():
    fits = []

    class Silent(FrequencySource):
        def held_out(self, alike):
            raise AssertionError("it has seen all rows")

    def make(regressor, training, settings):
        fits.append(len(training.groups))
        return Silent(training, settings.rows[:0])

    SOURCES["frequencies"] = Kind(lambda regressor: isinstance(regressor, Ignorant), make)
    model = fitted("hamming", estimator=Ignorant(), sharpness=1)
    assert fits == [140, 93, 93, 94]
    assert np.isfinite(model.oob_cost_)


def test_a_model_of_a_source_is_saved_for_those_who_trust_it(tmp_path):
    enter_source()
    model = fitted(estimator=Ignorant())
    path = tmp_path / "model.clems"
    names = [f"{own.__module__}.{own.__qualname__}" for own in (Ignorant, Frequencies)]
    save(model, path)
    again = load(path, names)
    assert np.array_equal(again.predict_proba(X[TEST]), model.predict_proba(X[TEST]))


# A decoder


def boldest(posterior, cost):
    """Predict the candidate of most labels of those that are probable at all."""
    share = posterior.share.toarray()
    return posterior.labels[np.where(share > 0.05, posterior.sizes + share, share - 1).argmax(axis=1)]


def test_a_decoder():
    enter_first(DECODERS, "boldest", Decoder(boldest, boldest, how="it dares of {sets}"))
    model = fitted(decoder="boldest", sharpness=1)
    predicted = model.predict(X[TEST])
    assert np.array_equal(predicted, boldest(model.posterior(X[TEST]), None))
    assert model.decoder_ == "boldest"
    assert [*model.oob_costs_] == ["boldest"]
    costs = model.expected_cost(X[TEST])
    assert (costs >= model.expected_cost(X[TEST], cost="f1") - 1e-12).all()
    assert predicted.sum() > model.predict(X[TEST], cost="f1").sum()
    assert np.array_equal(model.top_k(X[TEST], 2).labels[:, 0], predicted)
    compared = fitted(sharpness=1)
    assert [*compared.oob_costs_] == ["boldest", "nearest", "expected", "exact"]
    assert np.array_equal(compared.with_decoder("boldest").predict(X[TEST]), predicted)
    assert "Then it dares of 32." in check_evaluation_and_report(model, ["f1"])


def test_a_decoder_says_what_it_applies_to():
    enter_first(DECODERS, "boldest", Decoder(boldest, boldest, lambda cost: cost.name == "f1"))
    assert "boldest" in fitted("f1").oob_costs_
    assert "boldest" not in fitted("rank").oob_costs_
    with pytest.raises(ValueError, match="decoder='boldest'"):
        fitted("rank", decoder="boldest")
    with pytest.raises(ValueError, match="decoder must be one of 'auto', 'boldest', 'nearest', 'expected', 'exact'"):
        fitted(decoder="shy")


# A cost, and a rule for it


def enter_cost():
    @cost(symmetric=False, separating=False)
    def chatter(c):
        """Square of the number of predicted labels, and a fifth of a label that is missed."""
        return c.predicted**2 + c.fn / 5

    return COSTS["chatter"]


@pytest.mark.parametrize("learner", [CLEMS, PCC])
def test_a_cost(learner):
    chatter = enter_cost()
    assert isinstance(chatter, CountCost)
    assert get_cost("chatter") is chatter
    assert chatter.rowwise([[1, 1, 0]], [[0, 0, 1]]).tolist() == [1.4]
    assert get_criterion("chatter").name == "chatter"
    model = fitted("chatter", learner)
    assert not model.predict(X[TEST]).any()
    table, _ = brute(model.posterior(X[TEST]), chatter)
    expected = model.expected_cost(X[TEST]) / model.paid_over_expected()
    np.testing.assert_allclose(expected, table.min(axis=1), atol=1e-12)
    other = fitted("f1", learner)
    assert np.array_equal(other.predict(X[TEST], cost="chatter"), model.predict(X[TEST]))
    assert "chatter" in check_evaluation_and_report(model, ["chatter"])
    assert "chatter" in check_evaluation_and_report(other, ["f1", "chatter"])  # what if it were for another cost


def test_a_rule():
    chatter, asked = enter_cost(), []
    assert rule_for(chatter) is RULES["expected"]

    def silence(posterior, cost):
        asked.append(len(posterior))
        return np.zeros(posterior.marginals.shape, np.uint8)

    RULES["silence"] = Rule(silence, lambda cost: cost.name == "chatter", exact=True)
    assert rule_for(chatter) is RULES["silence"]
    assert rule_for(COSTS["f1"]) is RULES["size"]
    posterior = posterior_of(every_vector(3), np.random.default_rng(0).dirichlet(np.ones(8), 4))
    assert not posterior.decide("chatter").any()
    table, of = brute(posterior, chatter)
    np.testing.assert_allclose(of(posterior.decide("chatter")), table.min(axis=1))
    model = fitted("chatter", decoder="exact")  # which it now has
    assert model.decoder_ == "exact"
    asked.clear()
    assert not model.predict(X[TEST]).any()
    assert asked == [60]
    assert [*fitted("chatter").oob_costs_] == ["nearest", "expected", "exact"]


def test_a_cost_of_numbers():
    def misses(price, power, name=None):
        own = name or f"misses({price:g}, {power:g})"
        return CountCost(name=own, formula=lambda c: price * c.fn**power + c.fp, separating=True)

    PARAMETRISED["misses"] = misses
    assert get_cost("misses(2, 3)").rowwise([[1, 1, 0]], [[0, 0, 1]]).tolist() == [17]
    assert read_cost("misses(2, 3)").name == "misses(2, 3)"
    model = fitted("misses(2, 1)")
    posterior = model.posterior(X[TEST])
    assert np.array_equal(posterior.decide("misses(1, 1)"), posterior.decide("hamming"))
    assert model.predict(X[TEST], cost="misses(9, 1)").sum() > model.predict(X[TEST]).sum()
    assert "misses(2, 1)" in check_evaluation_and_report(model, ["misses(2, 1)"])
    with pytest.raises(ValueError, match=r"misses\(price, power\) takes numbers"):
        fitted("misses(2)")


# A criterion of all rows together


@dataclass(frozen=True)
class Balanced(LabelCriterion):
    """Mean over labels of half of the recall of both classes; a class that is not there has none."""

    asked: list = field(default_factory=list, compare=False)

    def of_counts(self, c):
        untrue = c.total - c.truth
        return (c.tp / np.maximum(c.truth, 1) + (untrue - c.fp) / np.maximum(untrue, 1)).mean(axis=-1) / 2

    def thresholds(self, marginals, weight):
        """A label is worth predicting if it is more probable than it is on average."""
        self.asked.append(len(marginals))
        return np.average(marginals, axis=0, weights=weight)


def test_a_criterion_of_all_rows_together():
    CRITERIA["balanced"] = criterion = Balanced("balanced", "balanced accuracy", True, COSTS["f1"])
    assert [*label_criteria()] == ["micro_f1", "macro_f1", "balanced"]
    assert get_criterion("balanced")([[1, 0], [0, 1]], [[1, 0], [1, 1]]) == pytest.approx(((1 + 0) / 2 + 1) / 2)
    model = fitted("balanced")
    assert len(criterion.asked) == 1
    assert model.criterion_ is criterion
    assert model.decoder_ == "threshold"
    predicted = model.predict(X[TEST])
    for one in (model, fitted("f1")):
        decided = one.predict(X[TEST], cost="balanced")
        marginals = one.posterior(X[TEST], "balanced").marginals
        for label in range(5):  # a threshold parts the rows
            has = decided[:, label] == 1
            assert marginals[has, label].min() > marginals[~has, label].max()
    assert model.score(X[TEST], Y[TEST]) == criterion(Y[TEST], predicted)
    assert model.score(X[TEST], Y[TEST]) > criterion(Y[TEST], fitted("hamming").predict(X[TEST]))
    assert 0 < model.oob_cost_ < 0.5
    with pytest.raises(ValueError, match="balanced is no cost of single rows"):
        model.expected_cost(X[TEST])
    with pytest.raises(ValueError, match="did you mean 'balanced'"):
        fitted("ballanced")
    page = check_evaluation_and_report(model, [*CRITERIA])
    assert "balanced accuracy" in page
    assert "balanced accuracy" in check_evaluation_and_report(fitted("f1"), [*CRITERIA])


def test_registries_are_as_they_were():
    assert [*SOURCES] == ["distances", "leaves", "neighbours"]
    assert [*DECODERS] == ["nearest", "expected", "exact"]
    assert [*RULES] == ["expected", "mode", "size", "gain", "top", "threshold"]
    assert [*PARAMETRISED] == ["f_beta", "precision_at", "recall_at", "ndcg_at", "psp_at", "random_prices"]
    assert "chatter" not in COSTS
    assert {*CRITERIA} == {*COSTS, "micro_f1", "macro_f1"}
