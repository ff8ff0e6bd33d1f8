"""Which digits are in the picture? One model per cost, every model under every criterion, one table, one report."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from clems import CLEMS, CRITERIA
from clems.datasets import digit_scenes
from clems.evaluation.report import write_report

COSTS = ["hamming", "f1", "accuracy", "composition", "rank"]
TRAIN = 3000
REPORT = Path("build/digit-scenes.html")


def trained_for(cost: str) -> str:
    return f"CLEMS: {CRITERIA[cost].title}"


def evaluate(models: dict, X, Y, console: Console) -> dict[str, list[float]]:
    """Train every model and measure it under every criterion."""
    values = {}
    columns = (TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=len(models))
        for name, model in models.items():
            progress.update(task, description=name)
            predicted = model.fit(X[:TRAIN], Y[:TRAIN]).predict(X[TRAIN:])
            values[name] = [CRITERIA[cost](Y[TRAIN:], predicted) for cost in COSTS]
            progress.advance(task)
        progress.update(task, description="done")
    return values


def main() -> None:
    start = perf_counter()
    console = Console()
    X, Y = digit_scenes(4000, random_state=0)
    console.print(
        f"\n{len(X):,} pictures of one to three overlapping handwritten digits; the labels say which digits are there. "
        f"{TRAIN:,} train, {len(X) - TRAIN:,} test. BR is binary relevance, one classifier per label; CLEMS regresses "
        "with the same twelve nearest neighbours.\n"
    )
    models = {
        "BR forest": MultiOutputClassifier(RandomForestClassifier(n_jobs=-1, random_state=0)),
        "BR neighbours": KNeighborsClassifier(12, weights="distance"),
    }
    for cost in COSTS:
        models[trained_for(cost)] = CLEMS(cost, estimator=KNeighborsRegressor(12, weights="distance"), random_state=0)
    values = evaluate(models, X, Y, console)

    best = {}
    table = Table("model")
    for column, cost in enumerate(COSTS):
        criterion = CRITERIA[cost]
        table.add_column(f"{criterion.title} {criterion.arrow}", justify="right")
        best[cost] = max(values, key=lambda name, c=column, sign=criterion.sign: sign * values[name][c])
    for name, row in values.items():
        cells = zip(COSTS, row, strict=True)
        table.add_row(
            name, *(f"[bold]{value:.3f}[/]" if best[cost] == name else f"{value:.3f}" for cost, value in cells)
        )
    console.print()
    console.print(table)

    away = [f"{CRITERIA[cost].title} goes to {name}" for cost, name in best.items() if name != trained_for(cost)]
    home = len(COSTS) - len(away)
    console.print(
        f"\nIn {home} of {len(COSTS)} columns the best model, in bold, is the one trained for that criterion"
        f"{'; ' if away else ''}{', '.join(away)}."
    )
    REPORT.parent.mkdir(exist_ok=True)
    pictures = X[TRAIN:].reshape(-1, 11, 11)
    write_report(
        models[trained_for("f1")], X[TRAIN:], Y[TRAIN:], REPORT, title="Which digits are there?", images=pictures
    )
    console.print(f"\nThe model for F1 has a report, with pictures of its most expensive mistakes: {REPORT}\n")
    console.print(f"{perf_counter() - start:.0f} seconds.\n", style="dim")


if __name__ == "__main__":
    main()
