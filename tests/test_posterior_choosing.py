"""Choosing on held-out rows: the option of a source, sharpness and decoder, each by one standard error."""

from dataclasses import dataclass

import numpy as np
import pytest
from distributions import posterior_of, posteriors
from hypothesis import given, settings
from hypothesis import strategies as st

from clems import COSTS, CRITERIA
from clems.costs.criteria import label_criteria, mean_of
from clems.decisions.decide import DECODERS
from clems.posterior.choosing import SHARPNESS, THRESHOLD, choose, choose_shape
from clems.posterior.one_standard_error import LEAST, log_loss_per_row, mean_and_error, one_standard_error, valley


def looked_up(table):
    """Loss of each row by a table of shape (options, sharpness, rows)."""
    return lambda posterior, sharpness: table[posterior.points[0], SHARPNESS.index(sharpness)]


class Tables:
    """A source whose posteriors tell nothing but the option that they are of, as their point."""

    def __init__(self, options):
        self.options, self.usual = options, options[-1]
        self.posteriors = {one: posterior_of(np.eye(1), np.eye(1), points=np.array([one])) for one in options}

    def held_out(self, option):
        return self.posteriors[option]


def chosen_shape(losses, costs, *others):
    source = Tables([*range(len(losses))])
    costs = None if costs is None else looked_up(costs)
    option, sharpness, posterior = choose_shape(source, looked_up(losses), costs, *others)
    assert posterior is source.posteriors[option]
    return option, SHARPNESS.index(sharpness)


@given(seed=st.integers(0, 2**32 - 1))
def test_no_sharpness_beside_the_chosen_one_has_less_log_loss(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (rng.integers(1, 5), len(SHARPNESS), rng.integers(1, 7))).astype(float)
    option, place = chosen_shape(table, None, None)
    mean = table[option].mean(axis=1)
    assert mean[place] == mean[max(place - 1, 0) : place + 2].min()


@given(seed=st.integers(0, 2**32 - 1))
def test_a_valley_is_where_no_step_goes_down(seed):
    rng = np.random.default_rng(seed)
    table, weight = rng.integers(0, 5, (len(SHARPNESS), 6)).astype(float), rng.integers(1, 4, 6).astype(float)
    start = int(rng.integers(len(SHARPNESS)))
    found, losses = valley(lambda power: table[SHARPNESS.index(power)], SHARPNESS, SHARPNESS[start], weight)
    mean, place = np.average(table, axis=1, weights=weight), SHARPNESS.index(found)
    assert mean[place] == mean[max(place - 1, 0) : place + 2].min()
    way = range(min(start, place), max(start, place) + 1)
    assert (np.diff(mean[[*way]]) * (1 if place < start else -1) > 0).all()
    assert {SHARPNESS.index(power) for power in losses} >= {*way}
    assert all(np.array_equal(own, table[SHARPNESS.index(power)]) for power, own in losses.items())


def without_mean(noise, weight):
    return noise - np.average(noise, axis=-1, weights=weight)[..., None]


def lead(usual, other, weight):
    gain = np.average(usual - other, weights=weight)
    return gain - np.sqrt(np.average((usual - other - gain) ** 2, weights=weight) / len(usual))


@given(seed=st.integers(0, 2**32 - 1))
def test_a_sharpness_that_is_given_stays_and_an_option_has_to_be_better_beyond_chance(seed):
    rng = np.random.default_rng(seed)
    table, place = rng.normal(size=(4, len(SHARPNESS), 20)), rng.integers(len(SHARPNESS))
    weight = rng.integers(1, 4, 20).astype(float)
    leads = [lead(table[-1, place], own, weight) for own in table[:, place]]
    wanted = int(np.argmax(leads)) if max(leads) > 0 else 3
    for costs in (None, rng.normal(size=table.shape)):
        assert chosen_shape(table, costs, weight, SHARPNESS[place]) == (wanted, place)


@st.composite
def valleys(draw):
    """Mean losses of options by sharpness, each with a single valley, and where that is."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    bottom = rng.integers(len(SHARPNESS), size=3)
    along = np.abs(np.arange(len(SHARPNESS)) - bottom[:, None]) * rng.uniform(0.5, 2)
    return rng.uniform(0, 1, 3)[:, None] + along, bottom


@given(lossy=valleys(), costly=valleys(), seed=st.integers(0, 99))
def test_options_and_sharpness_are_left_for_others_only_beyond_chance(lossy, costly, seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, 20).astype(float)
    noise = without_mean(rng.normal(0, rng.choice([0.1, 1, 10]), (3, len(SHARPNESS), 20)), weight)
    losses, costs = lossy[0][:, :, None] + noise, costly[0][:, :, None] + noise
    least = [losses[option, place] for option, place in enumerate(lossy[1])]
    leads = [lead(least[-1], own, weight) for own in least]
    option = int(np.argmax(leads)) if max(leads) > 0 else 2
    usual, cheap = lossy[1][option], costly[1][option]
    assert chosen_shape(losses, None, weight) == (option, usual)
    better = lead(costs[option, usual], costs[option, cheap], weight) > 0
    assert chosen_shape(losses, costs, weight) == (option, cheap if better else usual)


@given(posterior=posteriors(), seed=st.integers(0, 99))
def test_log_loss_is_minus_the_logarithm_of_the_probability_of_each_label(posterior, seed):
    n, K = posterior.marginals.shape
    truth = np.random.default_rng(seed).integers(0, 2, (n, K)).astype(np.uint8)
    for row, found in enumerate(log_loss_per_row(posterior.marginals, truth)):
        wanted = 0
        for label in range(K):
            p = sum(
                q
                for q, vector in zip(posterior.share.toarray()[row], posterior.labels, strict=True)
                if vector[label] == truth[row, label]
            )
            wanted -= np.log(min(max(p, LEAST), 1 - LEAST))
        assert found == pytest.approx(wanted)


def test_another_than_the_usual_one_has_to_be_better_beyond_chance():
    rng = np.random.default_rng(0)
    usual, noise = rng.random(400), without_mean(rng.normal(size=400), None)
    error = noise.std() / np.sqrt(400)

    def better(other, weight=None):
        return one_standard_error({"other": other, "usual": usual}, "usual", weight) == "other"

    assert better(usual + noise - 1.01 * error)
    assert not better(usual + noise - 0.99 * error)
    assert not better(usual)
    only_first = (np.arange(400) < 1).astype(float)
    assert not better(usual + 0.1 - only_first)
    assert better(usual + 0.1 - only_first, only_first)


def test_the_error_of_a_mean_is_that_of_weighted_rows():
    values = np.array([1.0, 2.0, 6.0])
    assert mean_and_error(values, None) == pytest.approx((3, values.std() / 3**0.5))
    weight = np.array([1.0, 1.0, 2.0])
    spread = np.average((values - 3.75) ** 2, weights=weight)
    assert mean_and_error(values, weight) == pytest.approx((3.75, (spread / 3) ** 0.5))


# All of it


@dataclass
class Held:
    """A source with one option, which holds out all rows of a posterior."""

    posterior: object
    options = ("only",)
    usual = "only"

    def held_out(self, option):
        assert option == "only"
        return self.posterior


@st.composite
def held(draw):
    """Rows that are held out, with points, labels and, perhaps, weights."""
    bare = draw(posteriors(5))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    n, K = bare.marginals.shape
    points, embedded = rng.normal(size=(n, 3)), rng.normal(size=(len(bare.labels), 3))
    posterior = posterior_of(bare.labels, bare.share, points=points, embedded=embedded)
    truth = rng.integers(0, 2, (n, K)).astype(np.uint8)
    return posterior, truth, draw(st.sampled_from([None, rng.integers(1, 4, n).astype(float)]))


@settings(max_examples=50)
@given(rows=held(), name=st.sampled_from(["f1", "accuracy", "hamming", "zero_one"]), power=st.sampled_from([0.7, 1, 2]))
def test_costs_of_decoders_are_those_of_their_decisions(rows, name, power):
    posterior, truth, weight = rows
    cost, sharp = COSTS[name], posterior.sharpened(power)
    names = [key for key, decoder in DECODERS.items() if decoder.applies(cost)]
    chosen = choose(Held(posterior), truth, weight, mean_of(cost), names, power)
    by_row = {key: cost.rowwise(truth, DECODERS[key].decide(sharp, cost)) for key in names}
    assert (chosen.option, chosen.mixture.sharpness) == ("only", power)
    assert [*chosen.costs] == names
    for key, value in chosen.costs.items():
        assert value == pytest.approx(np.average(by_row[key], weights=weight))
    leads = {key: lead(by_row[names[-1]], own, weight) for key, own in by_row.items()}
    assert chosen.decoder == (max(leads, key=leads.get) if max(leads.values()) > 0 else names[-1])
    assert {*chosen.thresholds} == {*label_criteria()}
    for key, thresholds in chosen.thresholds.items():
        assert np.array_equal(thresholds, CRITERIA[key].thresholds(sharp.marginals, weight))


@settings(max_examples=50)
@given(rows=held(), name=st.sampled_from([*label_criteria()]))
def test_criteria_of_all_rows_are_measured_by_their_thresholds(rows, name):
    posterior, truth, weight = rows
    criterion = CRITERIA[name]
    chosen = choose(Held(posterior), truth, weight, criterion, ["nearest"], None)
    assert chosen.decoder == THRESHOLD
    marginals = posterior.sharpened(chosen.mixture.sharpness).marginals
    decided = (marginals > chosen.thresholds[name]).astype(np.uint8)
    assert chosen.costs == {THRESHOLD: pytest.approx(1 - criterion(truth, decided, weight))}
    losses = [
        np.average(log_loss_per_row(posterior.sharpened(power).marginals, truth), weights=weight) for power in SHARPNESS
    ]
    place = SHARPNESS.index(chosen.mixture.sharpness)
    assert losses[place] <= min(losses[max(place - 1, 0) : place + 2]) + 1e-12


def test_without_rows_the_usual_is_chosen():
    source, truth = Held(None), np.zeros((0, 3), np.uint8)
    for sharpness, wanted in ((None, 1.0), (2.0, 2.0)):
        chosen = choose(source, truth, None, CRITERIA["f1"], ["nearest", "exact"], sharpness)
        assert (chosen.option, chosen.mixture.sharpness, chosen.decoder) == ("only", wanted, "exact")
        assert np.isnan([*chosen.costs.values()]).all()
        assert [*chosen.costs] == ["nearest", "exact"]
        assert [*chosen.thresholds] == [*label_criteria()]
        assert all(own.tolist() == [0.5] for own in chosen.thresholds.values())
    assert choose(source, truth, None, CRITERIA["micro_f1"], ["exact"], None).decoder == THRESHOLD
