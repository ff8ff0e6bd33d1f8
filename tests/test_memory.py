"""Memory of training: the estimate bounds what fits take, and what takes more than it may is refused in a sentence."""

import os
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clems import BR, CLEMS
from clems.learners import br as br_module
from clems.learners import clems as clems_module
from clems.learners import memory
from clems.learners.memory import ADVICE, Size, as_bytes, check_memory, memory_here, peak, stages

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 5)), (RNG.random((60, 4)) < 0.4).astype(int)


@given(
    size=st.builds(
        Size,
        n=st.integers(10, 10**7),
        d=st.integers(1, 10**5),
        K=st.integers(1, 10**4),
        L=st.integers(1, 10**5),
        M=st.integers(1, 1000),
        landmarks=st.sampled_from([None, 1000]),
        experts=st.integers(0, 2),
        linear=st.booleans(),
    ),
    more=st.sampled_from(["n", "d", "L", "M", "n_trees", "jobs", "experts"]),
)
def test_more_of_anything_takes_no_less(size, more):
    greater = replace(size, **{more: getattr(size, more) + 1})
    ways = (size.n > 4000) == (greater.n > 4000), (size.L > 50_000) == (greater.L > 50_000)
    if all(ways) and (size.d <= min(size.n, 8000)) == (greater.d <= min(greater.n, 8000)):
        assert peak(greater)[0] >= peak(size)[0] * (1 - 1e-12)
    assert all(name in ADVICE for stage in stages(size) for name in stage)


@pytest.mark.parametrize(
    ("n", "d", "K", "L", "form"),
    [(600, 20, 6, 40, np.asarray), (300, 10, 20, 250, np.asarray), (400, 300, 6, 30, sparse.csr_array)],
)
def test_no_fit_takes_more_than_is_estimated(n, d, K, L, form, monkeypatch):
    rng, sizes = np.random.default_rng(1), []
    labels = (rng.random((L, K)) < 0.3).astype(np.uint8)[np.arange(n) % L]
    rows = rng.normal(size=(n, d)) * (rng.random((n, d)) < (0.02 if form is sparse.csr_array else 1))
    monkeypatch.setattr(clems_module, "check_memory", lambda size, _: sizes.append(size))
    model = CLEMS(n_trees=4, random_state=0)
    model.fit(form(rows)[:50], labels[:50])  # what is imported and kept at the first time
    tracemalloc.start()
    try:
        model.fit(form(rows), labels)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken <= peak(sizes[-1])[0] + 2**20
    assert sizes[-1].n_trees == 4
    assert (sizes[-1].entries is None) == (form is np.asarray)


def test_too_much_is_refused_before_anything_is_embedded(monkeypatch):
    monkeypatch.setattr(clems_module, "mirrored_smacof", None)
    wanted = (
        r"^Training would take up to [\d.]+ [MG]iB beyond the data, more than max_memory='64 kB' allows: "
        r"[\d.]+ [MG]iB for .+, [\d.]+ [MG]iB for .+\. With .+ it takes less; max_memory=None sets no limit\.$"
    )
    with pytest.raises(ValueError, match=wanted):
        CLEMS(max_memory="64 kB").fit(X, Y)


def test_the_sentence_names_what_takes_the_most_and_what_to_do():
    many = Size(n=40_000, d=100, K=100, L=30_000, M=100)
    with pytest.raises(
        ValueError, match=r"GiB for distances of all label vectors, .* With landmarks=1000 it takes less; "
    ):
        check_memory(many, "8 GiB")
    check_memory(replace(many, landmarks=1000, M=64), "8 GiB")
    with pytest.raises(ValueError, match=r"GiB for trees, .* With a smaller n_trees"):
        check_memory(Size(n=10**7, d=50, K=20, L=500, M=20), 2**33)


def test_a_limit_that_suffices_changes_nothing():
    answers = [CLEMS(n_trees=5, max_memory=one, random_state=0).fit(X, Y).predict(X) for one in ("auto", None, 2**33)]
    assert all(np.array_equal(answers[0], other) for other in answers[1:])


def test_auto_is_what_the_process_may_take(monkeypatch):
    resource = pytest.importorskip("resource")
    free = memory_here()
    assert 2**20 < free <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    taken = memory._taken()[1]
    monkeypatch.setattr(resource, "getrlimit", lambda _: (taken + 2**24, resource.RLIM_INFINITY))
    assert memory_here() <= 2**24 + 2**20
    with pytest.raises(ValueError, match=r"max_memory='auto' allows, 1[\d.]+ MiB here: "):
        CLEMS(n_trees=1000).fit(np.repeat(X, 20, axis=0), np.repeat(Y, 20, axis=0))


@pytest.mark.parametrize(
    ("text", "size"),
    [("4 GiB", 2**32), ("2gb", 2e9), ("1.5 MB", 1.5e6), ("7B", 7), (" 1 TiB ", 2**40), (12, 12), (None, np.inf)],
)
def test_limits_are_read(text, size):
    assert as_bytes(text) == size


@pytest.mark.parametrize(("learner", "module", "name"), [(CLEMS, clems_module, "grow_trees"), (BR, br_module, None)])
def test_memory_that_ends_all_the_same_is_a_sentence(learner, module, name, monkeypatch):
    def none(*_, **__):
        raise MemoryError("Unable to allocate 1.00 TiB for an array")

    if name:
        monkeypatch.setattr(module, name, none)
    else:
        monkeypatch.setattr(learner, "_fit", none)
    wanted = "^Training ran out of memory with 60 rows, 5 features and 4 labels: Unable to allocate 1.00 TiB"
    with pytest.raises(ValueError, match=wanted):
        learner().fit(X, Y)
