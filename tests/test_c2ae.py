"""C2AE: its networks in numpy and torch, when training stops, and what it does without torch."""

import subprocess
import sys
from copy import copy
from functools import cache
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import Ridge

from clems import C2AE, load, save
from clems.datasets import digit_scenes
from clems.embedding.autoencoder import Plan, Scaling, drawn, forward, ranking_loss, run, scaling_of, train
from clems.persistence import ModelError

X, Y = digit_scenes(260, random_state=0)
X, Y = X[:, ::2], Y[:, :6]
SMALL = {"n_hidden": 64, "learning_rate": 3e-3, "random_state": 0}
PLAN = Plan(5, 2.0, 16, 500, 3e-3, 30, 20, 0.2, 1, True)


@cache
def torch():
    return pytest.importorskip("torch", reason="C2AE needs torch")


@pytest.fixture
def needs_torch():
    return torch()


def same(one, other):
    parts = [[part for layers in found.networks[1:] for layer in layers for part in layer] for found in (one, other)]
    return all(np.array_equal(a, b) for a, b in zip(*parts, strict=True))


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_the_ranking_loss_is_the_mean_over_pairs_of_labels(seed, K):
    rng = np.random.default_rng(seed)
    scores, labels = rng.random((4, K)), rng.integers(0, 2, (4, K))
    for row, truth, loss in zip(scores, labels, ranking_loss(np, scores, labels), strict=True):
        there, others = row[truth == 1], row[truth == 0]
        pairs = [(p, q) for p in there for q in others]
        wanted = sum(
            np.mean([np.exp(-5 * (p - q)) for p, q in some]) if len(some) else 0
            for some in (pairs, [(p, 0.5) for p in there], [(0.5, q) for q in others])
        )
        assert loss == pytest.approx(wanted)


def test_networks_say_the_same_in_numpy_and_torch(needs_torch):
    layers = drawn([7, 5, 5, 3], np.random.RandomState(0))
    inputs = np.random.RandomState(1).standard_normal((20, 7))
    in_torch = [tuple(map(needs_torch.from_numpy, layer)) for layer in layers]
    outputs = run(needs_torch, in_torch, needs_torch.from_numpy(inputs)).numpy()
    np.testing.assert_allclose(forward(layers, inputs), outputs, rtol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("size", [1e-320, 1.0, 1e307])
def test_features_are_scaled_whatever_their_size(form, size):
    rng = np.random.default_rng(0)
    features, weight = rng.integers(0, 9, (50, 4)) * np.array([1, 1, 1, 0]), rng.integers(1, 4, 50)
    features = form(features * size)
    scaled = scaling_of(features, weight.astype(float)).of(features)
    np.testing.assert_allclose(np.average(scaled, axis=0, weights=weight), 0, atol=1e-9)
    np.testing.assert_allclose(np.average(scaled**2, axis=0, weights=weight), [1, 1, 1, 0], atol=1e-9)


def test_a_feature_that_is_far_away_counts_as_far():
    tiny = Scaling(np.array([-1000]), np.zeros(1), np.ones(1))
    assert tiny.of(np.array([[1e300], [-1e300]])).tolist() == [[1e6], [-1e6]]


def test_few_rows_are_known_by_heart(needs_torch):
    model = C2AE(validation_fraction=None, max_epochs=400, **SMALL).fit(X[:40], Y[:40])
    assert np.array_equal(model.predict(X[:40]), Y[:40])
    assert model.reconstruction_error_ == 0


def test_learns_from_features(needs_torch):
    rng = np.random.default_rng(0)
    features = rng.standard_normal((500, 6))
    labels = (features @ rng.standard_normal((6, 4)) > 0.5).astype(int)
    model = C2AE("hamming", **SMALL).fit(features[:300], labels[:300])
    wrong = (model.predict(features[300:]) != labels[300:]).mean()
    assert wrong < 0.5 * labels.mean()


def test_the_seed_decides_all_whatever_torch_is_set_to(needs_torch):
    torch = needs_torch

    def trained(seed=0):
        return train(X[:60], Y[:60], None, PLAN, np.random.RandomState(seed))

    wanted, threads = trained(), torch.get_num_threads()
    torch.manual_seed(7)
    number = torch.rand(1).item()
    torch.manual_seed(7)
    torch.set_default_dtype(torch.float16)
    torch.set_default_device("meta")
    torch.set_num_threads(2)
    try:
        with torch.inference_mode():
            found = trained()
            assert torch.is_inference_mode_enabled()
        assert torch.get_num_threads() == 2
        assert torch.get_default_dtype() is torch.float16
        assert torch.get_default_device().type == "meta"
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_default_device(None)
        torch.set_num_threads(threads)
    assert torch.rand(1).item() == number
    assert same(wanted, found)
    assert not same(wanted, trained(1))


def test_training_stops_when_the_loss_of_held_out_rows_no_longer_falls(needs_torch):
    model = C2AE(patience=5, max_epochs=1000, **SMALL).fit(X[:100], Y[:100])
    assert 1 < len(model.losses_) < 1000
    assert model.n_epochs_ == model.losses_.argmin() == len(model.losses_) - 1 - 5
    short = C2AE(patience=5, max_epochs=model.n_epochs_, **SMALL).fit(X[:100], Y[:100])
    assert np.array_equal(short.predict(X), model.predict(X))
    np.testing.assert_array_equal(short.to_labels_[0][0], model.to_labels_[0][0])


def test_weights_are_the_best_even_if_training_diverges(needs_torch):
    model = C2AE(**SMALL | {"learning_rate": 1e6}).fit(X[:60], Y[:60])
    assert all(np.isfinite(part).all() for layer in model.from_features_ for part in layer)
    assert model.predict(X[60:]).shape == (200, 6)


def test_rows_are_learned_in_batches(needs_torch):
    many, one = (train(X[:60], Y[:60], None, PLAN._replace(batch_size=b), np.random.RandomState(0)) for b in (20, 60))
    assert many.losses[0] == pytest.approx(one.losses[0])
    assert many.losses[1] < one.losses[1]  # after three steps rather than one


def test_a_regressor_may_predict_codes(needs_torch):
    model = C2AE("f1", estimator=Ridge(), **SMALL).fit(X[:200], Y[:200])
    codes = model.estimator_.predict(X[200:])
    np.testing.assert_allclose(model._scores(X[200:]), model._decoded(codes))
    assert model.predict(X[200:], cost="rank").sum() > model.predict(X[200:], cost="hamming").sum()


def test_labels_that_do_not_vary_are_not_embedded(needs_torch):
    labels = np.column_stack([Y[:60, :2], np.ones(60), np.zeros(60)])
    model = C2AE("f1", **SMALL).fit(X[:60], labels)
    assert model.from_labels_[0][0].shape[0] == 2
    assert (model.predict(X)[:, 2:] == [1, 0]).all()


def test_verbose_shows_progress_on_a_terminal_only(needs_torch, capsys, monkeypatch):
    C2AE(verbose=1, **SMALL | {"max_epochs": 3}).fit(X[:30], Y[:30])
    assert capsys.readouterr().err.strip() == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    C2AE(verbose=1, **SMALL | {"max_epochs": 3}).fit(X[:30], Y[:30])
    assert "epoch" in capsys.readouterr().err
    C2AE(**SMALL | {"max_epochs": 3}).fit(X[:30], Y[:30])
    assert capsys.readouterr().err == ""


def test_without_torch_the_install_line_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    model = C2AE()
    with pytest.raises(ImportError, match=r"^C2AE needs torch: pip install 'clems\[c2ae\]'\.$"):
        model.fit(X[:30], Y[:30])
    assert not hasattr(model, "classes_")


def test_what_was_saved_predicts_without_torch(needs_torch, tmp_path):
    model = C2AE("f1", **SMALL).fit(X[:100], Y[:100])
    save(model, tmp_path / "model.clems")
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "predicted.npy", model.predict(X, cost="rank"))
    assert np.array_equal(load(tmp_path / "model.clems").predict(X), model.predict(X))
    code = """
        import sys

        class NoTorch:
            def find_spec(self, name, *_):
                if name.partition(".")[0] == "torch":
                    raise ImportError("there is no torch")

        sys.meta_path.insert(0, NoTorch())
        import numpy as np
        from clems import load
        predicted = load("model.clems").predict(np.load("X.npy"), cost="rank")
        assert np.array_equal(predicted, np.load("predicted.npy"))
    """
    subprocess.run([sys.executable, "-c", dedent(code)], cwd=tmp_path, check=True)


def test_nothing_imports_torch_before_it_is_needed():
    code = "import sys; import clems; clems.C2AE(); clems.LEARNERS; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@cache
def fitted():
    torch()
    return C2AE("f1", **SMALL | {"max_epochs": 3}).fit(X[:60], Y[:60])


def one_more(array, axis=0):
    return np.concatenate([array, array.take([0], axis)], axis)


CRAFTED = {
    "from_features_": lambda layers: [(one_more(layers[0][0]), layers[0][1]), *layers[1:]],
    "from_labels_": lambda layers: layers[::-1],
    "to_labels_": lambda layers: layers[:1],
    "to_labels_ ": lambda layers: [*layers[:1], (layers[1][0], one_more(layers[1][1]))],
    "to_labels_  ": lambda layers: [],
    "to_labels_   ": lambda layers: [(weights.astype(int), bias) for weights, bias in layers],
    "codes_": lambda codes: one_more(codes, 1),
    "_constant": lambda constant: constant[:-1],
    "_constant ": lambda constant: np.zeros_like(constant),
    "_exponents": lambda exponents: exponents + 10**6,
    "_exponents ": lambda exponents: exponents.astype(float),
    "_mean": lambda mean: mean[:-1],
    "_deviation": lambda deviation: deviation[:, None],
}


@pytest.mark.parametrize("name", CRAFTED)
def test_networks_that_do_not_fit_are_not_loaded(needs_torch, name, tmp_path):
    crafted = copy(fitted())
    setattr(crafted, name.strip(), CRAFTED[name](getattr(crafted, name.strip())))
    save(crafted, tmp_path / "model.clems")
    with pytest.raises(ModelError, match="it holds a C2AE that cannot be used"):
        load(tmp_path / "model.clems")


def test_a_model_of_labels_that_do_not_vary_is_loaded(needs_torch, tmp_path):
    model = C2AE(**SMALL).fit(X[:30], np.ones((30, 2)))
    save(model, tmp_path / "model.clems")
    assert load(tmp_path / "model.clems").predict(X).all()
