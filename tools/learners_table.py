"""The table of learners in docs/learners.md, from the registry: python -m tools.learners_table."""

from __future__ import annotations

from pathlib import Path

from clems.learners import LEARNERS

PAGE = Path(__file__).parents[1] / "docs" / "learners.md"
START, END = "<!-- learners: made by python -m tools.learners_table -->\n", "<!-- end of the learners -->\n"
HEAD = ("name", "class", "uses a cost", "built on", "predict_proba", "code", "what is optimised", "time", "memory")


def row_of(name: str) -> tuple[str, ...]:
    """Cells of a learner."""
    learner = LEARNERS[name]
    times = {"training": learner.cost_at_fit, "prediction": learner.cost_at_predict}
    when = "in " + " and ".join(time for time, used in times.items() if used) if learner.cost_sensitive else "no"
    proba = "yes" if hasattr(learner(), "predict_proba") else "no"
    return (name, f"`{learner.__name__}`", when, learner.predictor, proba, *learner.profile)


def table() -> str:
    """All learners as a table of Markdown."""
    rows = [HEAD, ("---",) * len(HEAD), *map(row_of, sorted(LEARNERS))]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines[1] = "|" + "---|" * len(HEAD)
    return "\n".join(lines) + "\n"


def renewed(page: str) -> str:
    """Return a page with the table as it should be."""
    before, _, rest = page.partition(START)
    return f"{before}{START}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
