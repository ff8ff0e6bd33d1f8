"""Figures show every learner where it stands."""

from types import SimpleNamespace

from made_records import POSITIONS, made_store

from clems.experiments.analysis.selection import results, summary
from clems.experiments.output.figures.curves import curves
from clems.experiments.output.figures.style import looks, save


def test_points_stand_at_their_own_positions():
    plan, records = made_store("p", ["f1"], kind="curves", positions=POSITIONS)
    (ax,) = curves(plan, records).axes
    cells = summary(results(plan, records)).set_index(["learner", "x"])["mean"]
    alpha, beta, gamma = ax.get_lines()
    for name, line in (("alpha", alpha), ("beta", beta)):
        assert line.get_xdata().tolist() == POSITIONS[name]
        assert line.get_ydata().tolist() == [cells[name, x] for x in POSITIONS[name]]
    assert {*gamma.get_ydata()} == {cells["gamma_1"].iloc[0]}


def test_figures_are_reproducible(tmp_path):
    plan, records = made_store("pq", ["f1"], kind="curves", positions=POSITIONS, repetitions=2)
    once, again = (save(curves(plan, records), tmp_path / name) for name in ("once", "again"))
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]


def test_every_learner_looks_different():
    entry = SimpleNamespace(title="", notes="")
    drawn = looks(SimpleNamespace(learners={f"l{n}": entry for n in range(14)})).values()
    assert len({(look.colour, look.line) for look in drawn}) == len({look.marker for look in drawn}) == 14
