"""Keys and checksums change with what changes the numbers alone."""

import inspect

from small_experiment import DATA, spec_of

from clems import weighted_hamming
from clems.experiments.plan import make_plan


def test_keys_change_with_what_changes_the_numbers_alone():
    def keys(**changes):
        return {trial.key for trial in make_plan(spec_of(**changes)).trials}

    usual = keys(learners={"clems": {}})
    assert usual == keys(learners={"clems": {"title": "C", "notes": "n"}}, title="other", notes="n")
    assert usual < keys(learners={"clems": {}}, repetitions=6)
    assert usual < keys(learners={"clems": {}}, criteria=["rank", "f1"])
    assert usual == keys(learners={"clems": {}}, depths=[7])  # it chooses for itself
    for changes in (
        {"trees": 4},
        {"seed": 1},
        {"split": {"train": 0.4}},
        {"learners": {"clems": {"parameters": {"roles": "swapped"}}}},
        {"data": {"scenes": DATA.whole.take(slice(100))}},
        {"costs": {"own": weighted_hamming(1.0)}},
    ):
        assert not usual & keys(**{"learners": {"clems": {}}} | changes)
    assert not keys() & keys(depths=[7])
    prices = [keys(costs={"own": weighted_hamming(price)}, criteria=["own"]) for price in (1.0, 2.0, 2.0)]
    assert prices[0].isdisjoint(prices[1])
    assert prices[1] == prices[2]


FACTOR = 1


def scaled(factor, more=0):
    def wrong(Y, P, power=1 + more):
        return factor * abs(Y - P).sum(axis=1) ** power

    return wrong


NAMED = {"square": lambda number: number**2}  # which cannot be sent to other processes


def by_name(Y, P):
    return NAMED["square"](abs(Y - P).sum(axis=1))


def by_global(Y, P):
    return [FACTOR * twice(sum(int(a != b) for a, b in zip(y, p, strict=True))) for y, p in zip(Y, P, strict=True)]


def twice(number):
    return 2 * number


def test_functions_are_distinguished_by_all_that_they_refer_to(monkeypatch):
    def print_of(function):
        return spec_of(costs={"own": function}, criteria=["own"]).fingerprint("scenes")

    assert print_of(scaled(1)) == print_of(scaled(1))
    assert len({print_of(scaled(factor, more)) for factor in (1, 2) for more in (0, 1)}) == 4
    usual = print_of(by_global)
    exec(inspect.getsource(by_global), own := dict(globals()))
    assert print_of(own["by_global"]) == usual  # compiled anew, at another place in memory
    monkeypatch.setitem(globals(), "FACTOR", 3)
    assert print_of(by_global) != usual
    monkeypatch.undo()
    monkeypatch.setitem(globals(), "twice", lambda number: 3 * number)
    assert print_of(by_global) != usual
    monkeypatch.undo()
    assert print_of(by_name) not in (usual, print_of(scaled(1)))
    assert print_of(by_global) == usual == print_of(f"{__name__}:by_global")
