"""CCAOC: mean field against its bound and against all label vectors, and how much variates count."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from clems import CCAOC
from clems.posterior import mean_field as module
from clems.posterior.mean_field import evidence_bound, mean_field
from clems.posterior.one_standard_error import log_loss_per_row


def some(seed, n=6, K=4, d=3):
    rng = np.random.default_rng(seed)
    return rng.random((n, K)), rng.standard_normal((n, d)), rng.standard_normal((d, K)), rng.random(d) * 2


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_sweep_raises_the_bound(seed):
    p, values, directions, precision = some(seed)
    before = evidence_bound(np.clip(p, 1e-12, 1 - 1e-12), p, values, directions, precision)
    most = module.SWEEPS
    try:
        for sweeps in (1, 2, 3, 20):
            module.SWEEPS = sweeps
            after = evidence_bound(mean_field(p, values, directions, precision), p, values, directions, precision)
            assert (after >= before - 1e-9).all()
            before = after
    finally:
        module.SWEEPS = most


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_below_the_evidence_and_tight_where_labels_are_independent(seed):
    p, values, directions, precision = some(seed)
    vectors = np.array([*product([0, 1], repeat=4)])

    def evidence(directions):
        labels = np.log(p) @ vectors.T + np.log(1 - p) @ (1 - vectors.T)
        off = (vectors @ directions.T)[None] - values[:, None]
        return np.log(np.exp(labels - 0.5 * (off**2) @ precision).sum(axis=1))

    q = mean_field(p, values, directions, precision)
    assert (evidence_bound(q, p, values, directions, precision) <= evidence(directions) + 1e-9).all()
    single = np.eye(3, 4)  # each variate is a label: nothing joins labels
    q = mean_field(p, values, single, precision)
    np.testing.assert_allclose(evidence_bound(q, p, values, single, precision), evidence(single), atol=1e-8)


def test_variates_that_say_nothing_leave_the_classifiers():
    p, values, directions, _ = some(0)
    np.testing.assert_allclose(mean_field(p, values, directions, np.zeros(3)), p, atol=1e-9)
    p[0] = [0, 1, 1, 0]
    np.testing.assert_array_equal(mean_field(p, values, directions, np.full(3, 9.0))[0], p[0])


def test_candidates_are_weighed_exactly():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    Y = (X @ rng.standard_normal((4, 3)) + rng.standard_normal((120, 3)) > 0).astype(int)
    model = CCAOC(decoding="observed", balance=0.7, estimator=LogisticRegression(), random_state=0).fit(X, Y)
    p = np.column_stack([one.predict_proba(X)[:, 1] for one in model.estimators_])
    values = X @ model._coef + model._intercept
    S, f = model.candidates_.labels.astype(float), model.candidates_.frequency
    wanted = np.array(
        [
            np.prod(np.where(s, p, 1 - p), axis=1) ** 0.7
            * np.exp(-0.5 * ((s @ model.directions_ - values) ** 2 / model.variances_).sum(axis=1))
            * share
            for s, share in zip(S, f / f.sum(), strict=True)
        ]
    ).T
    np.testing.assert_allclose(
        model.posterior(X).share.toarray(), wanted / wanted.sum(axis=1, keepdims=True), atol=1e-7
    )


@pytest.mark.parametrize("decoding", ["mean_field", "observed"])
def test_the_balance_counts_what_is_said_twice_once(decoding):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4))
    Y = (X @ rng.standard_normal((4, 3)) + 2 * rng.standard_normal((2000, 3)) > 0).astype(int)
    settings = {"decoding": decoding, "estimator": LogisticRegression(), "random_state": 0}
    chosen = CCAOC(**settings).fit(X[:1000], Y[:1000])
    published = CCAOC(**settings, balance=1.0).fit(X[:1000], Y[:1000])
    assert chosen.balance_ > 1 or decoding == "observed"  # where both may count less together
    losses = [log_loss_per_row(model.predict_proba(X[1000:]), Y[1000:]).mean() for model in (chosen, published)]
    assert losses[0] < losses[1] - 0.05


def test_without_held_out_rows_the_balance_is_one():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 3)), rng.integers(0, 2, (50, 3))
    auto, one = (CCAOC(n_folds=None, balance=b, n_trees=3, random_state=0).fit(X, Y) for b in ("auto", 1.0))
    np.testing.assert_array_equal(auto.predict_proba(X), one.predict_proba(X))
    assert auto.balance_ == 1
