"""Which digits are in the picture? One model per cost and every criterion; then prices, a guarantee and a report."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column, Table
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from clems import CLEMS, CRITERIA, GuaranteedCost, weighted_hamming
from clems.datasets import digit_scenes
from clems.evaluation import savings
from clems.evaluation.report import write_report
from clems.evaluation.savings import amount

COSTS = ["hamming", "f1", "accuracy", "composition", "rank"]
TRAIN, TEST, CALIBRATION = slice(3000), slice(3000, 4000), slice(4000, 5000)
PRICES = weighted_hamming([20, 5, 5, 5, 5, 5, 5, 5, 5, 20], 2, name="prices")
PERSON = 4  # € for a picture that a person looks at
LEVEL, CONFIDENCE = 4, 0.9
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
            predicted = model.fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
            values[name] = [CRITERIA[cost](Y[TEST], predicted) for cost in COSTS]
            progress.advance(task)
        progress.update(task, description="done")
    return values


def show_money(model: CLEMS, X, Y, console: Console) -> None:
    """Say what deciding by prices saves on the test rows."""
    found = savings(model, X[TEST], Y[TEST], unit="€")
    console.print(
        "\n[bold]Money.[/] Now mistakes have prices: missing a 0 or a 9 costs 20 €, missing another digit costs 5 €, "
        f"and a false alarm costs 2 €. A model that decides by these prices pays {amount(found.paid, '€')} on the test "
        "pictures. It saves:\n"
    )
    table = Table("against", *(Column(name, justify="right") for name in ("which pays", "saved", "95 % interval")))
    for against, row in found.table.iterrows():
        interval = f"{amount(row['low'], '€')} to {amount(row['high'], '€')}"
        table.add_row(against, amount(row["paid"], "€"), f"[bold]{amount(row['saved'], '€')}[/]", interval)
    console.print(table)


def show_promise(model: CLEMS, X, Y, console: Console) -> None:
    """Guarantee a mean cost with rows that neither training nor test uses, and check it on the test rows."""
    safe = GuaranteedCost(model, LEVEL, confidence=CONFIDENCE).fit(X[CALIBRATION], Y[CALIBRATION])
    predicted = safe.predict(X[TEST])
    handed_over = predicted.mask[:, 0]
    paid = PRICES.rowwise(Y[TEST], predicted.data)
    decided = paid[~handed_over].sum() / len(paid)
    console.print(
        "\n[bold]A guarantee.[/] If the model may hand uncertain pictures to a person, its mistakes cost at most "
        f"{LEVEL} € a picture on average, with a confidence of {CONFIDENCE:.0%}, calibrated on "
        f"{safe.n_calibration_:,} further pictures. On the test pictures it hands over {handed_over.mean():.0%} and "
        f"pays {amount(decided, '€')} a picture; if it decided all of them, {amount(paid.mean(), '€')}."
    )


def main() -> None:
    start = perf_counter()
    console = Console()
    X, Y = digit_scenes(5000, random_state=0)
    console.print(
        f"\n{TEST.stop:,} pictures of one to three overlapping handwritten digits; the labels say which digits are "
        f"there. {TRAIN.stop:,} are for training, {TEST.stop - TEST.start:,} for testing. BR is binary "
        "relevance, one classifier per label; CLEMS regresses with the same twelve nearest neighbours.\n"
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
    model = CLEMS(PRICES, n_jobs=-1, random_state=0).fit(X[TRAIN], Y[TRAIN])
    show_money(model, X, Y, console)
    show_promise(model, X, Y, console)
    REPORT.parent.mkdir(exist_ok=True)
    pictures = X[TEST].reshape(-1, 11, 11)
    how = {"title": "Which digits are there?", "images": pictures, "unit": "€", "abstain_at": PERSON}
    write_report(model, X[TEST], Y[TEST], REPORT, **how)
    console.print(f"\nA report on the model for prices, with pictures of its most expensive mistakes: {REPORT}\n")
    console.print(f"{perf_counter() - start:.0f} seconds.\n", style="dim")


if __name__ == "__main__":
    main()
