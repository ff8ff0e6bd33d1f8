"""What a model saves in the user's unit, against simple ways to predict and against a rule of the user's.

The map of the module: `Savings`, the result; `savings`, for users; `savings_of`, for answers that are there already;
the simple ways to predict; and `compared`, the resampling of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from clems.arrays import Bits, Floats, Labels
from clems.costs.cost import Cost, PriceCost
from clems.costs.criteria import get_criterion
from clems.costs.label_prices import names_of_pair
from clems.evaluation.answers import HALF, Alternative, Answers, answers_of, at_half
from clems.evaluation.bootstrap import drawn, ends
from clems.labels.matrix import as_dense, as_label_pair, as_labels, as_weights
from clems.learners.base import MultiLabelClassifier
from clems.learners.input import check_labels
from clems.learners.pipeline import ends_in_learner, reach
from clems.posterior.distribution import Posterior
from clems.wording import plural

NOTHING, EVERYTHING, CONSTANT, RULE = "predicting nothing", "predicting everything", "the best constant", "your rule"
RESAMPLES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Savings:
    """What predictions save against others.

    Attributes
    ----------
    cost : str
        Name of what a row costs.
    unit : str
        What costs are counted in, "€" for example; may be empty.
    n_rows : int
        Number of rows.
    paid : float
        What the predictions cost in all.
    expected : float or None
        What they were expected to cost in all; None if the model has no expected costs.
    table : DataFrame
        A line for each way to predict that they are compared with: what it would have `paid` in all, what is `saved`
        against it in all with the ends `low` and `high` of a 95 % interval, the same per row (`saved_per_row`,
        `low_per_row`, `high_per_row`), and what was `expected` to be saved in all, NaN where that is not known.
    lacking : tuple of str
        Why some comparisons are left out, a sentence each.
    labels : DataFrame or None
        Of a cost that is a price list a line for each label: what mistakes with it cost in all (`paid`), and what is
        saved on it against each way to predict, in a column called by it. Columns add up to the totals. None of other
        costs, which do not fall to labels.

    Examples
    --------
    >>> from clems import CLEMS
    >>> from clems.datasets import digit_scenes
    >>> from clems.evaluation import savings
    >>> X, Y = digit_scenes(200, random_state=0)
    >>> model = CLEMS("f1", n_trees=10, random_state=0).fit(X[:150], Y[:150])
    >>> found = savings(model, X[150:], Y[150:])
    >>> found.cost, found.n_rows, found.table.columns.tolist()[:3]
    ('f1', 50, ['paid', 'saved', 'low'])
    """

    cost: str
    unit: str
    n_rows: int
    paid: float
    expected: float | None
    table: pd.DataFrame
    lacking: tuple[str, ...]
    labels: pd.DataFrame | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is saved against each, in words."""
        return tuple(self._sentence(name, *row) for name, *row in self.table[["saved", "low", "high"]].itertuples())

    def _sentence(self, name: str, saved: float, low: float, high: float) -> str:
        on = f"on {plural(self.n_rows, 'row')}"
        if saved < 0:
            said, low, high = f"costs {self._amount(-saved)} more {on} than {name}", -high, -low
        else:
            said = f"saves {self._amount(saved)} {on} against {name}"
        return f"{said} (95 % interval {self._amount(low)} to {self._amount(high)})"

    def _amount(self, value: float) -> str:
        return amount(value, self.unit)

    def __repr__(self) -> str:
        expected = "" if self.expected is None else f", {self._amount(self.expected)} expected"
        head = f"{self.cost}: {self._amount(self.paid)} on {plural(self.n_rows, 'row')}{expected}"
        return "\n".join([head, *self.sentences, *self.lacking])

    def _repr_html_(self) -> str:
        """Tables for notebooks."""
        tables = [self.table, *([] if self.labels is None else [self.labels])]
        return "".join(str(table.map(self._amount).to_html()) for table in tables)


def savings(
    model: Any,
    X: Any,
    Y: Any,
    cost: str | Cost | Callable[[Any, Any], Any] | None = None,
    *,
    unit: str = "",
    rule: Any = None,
    Y_train: Any = None,
    probabilities: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Savings:
    """Compute what a model, or predictions, save on labelled rows, realised and expected.

    They are compared with predicting nothing; predicting everything; the labels more probable than ½, by the same
    probabilities; the constant label vector that is best on *training* rows (best on these rows it would be an oracle
    that nobody has); and a rule of yours.

    Parameters
    ----------
    model : learner, Pipeline, or array-like, sparse matrix or DataFrame of shape (n, K)
        A fitted learner, scikit-learn's Pipeline that ends in one, or predictions of any model.
    X : array-like, sparse matrix or DataFrame of shape (n, d), or None
        Features; predictions need them only if the rule is a function.
    Y : array-like, sparse matrix or DataFrame of shape (n, K), or list of n label sets
        True labels.
    cost : str, Cost or callable, default=None
        What a row costs; None is the model's own. A learner that decides for any cost decides for this one.
    unit : str, default=""
        What costs are counted in, such as "€".
    rule : callable, or array-like, sparse matrix or DataFrame of shape (n, K), default=None
        What is done at present: its predictions, or a function of X that returns them.
    Y_train : array-like, sparse matrix or DataFrame of shape (m, K), or list of m label sets, default=None
        Labels of training rows, for the best constant. CLEMS keeps its own.
    probabilities : array-like of shape (n, K), default=None
        Probabilities of labels that belong to predictions, for the comparison with ½.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts: totals are weighted sums, values per row weighted means.

    Returns
    -------
    Savings
        Intervals are the middle 95 % of 1,000 bootstrap resamples of the rows. A saving is resampled as the difference
        row by row, so its interval is narrower than those of the two costs.

    Examples
    --------
    >>> from clems import CLEMS, weighted_hamming
    >>> from clems.datasets import digit_scenes
    >>> from clems.evaluation import savings
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> prices = weighted_hamming(10, 1)
    >>> model = CLEMS(prices, n_trees=10, random_state=0).fit(X[:200], Y[:200])
    >>> found = savings(model, X[200:], Y[200:], unit="€")
    >>> found.table.index.tolist()
    ['½ thresholds', 'predicting nothing', 'predicting everything', 'the best constant']
    >>> bool(found.table.loc["½ thresholds", "saved"] > 0)
    True
    """
    if np.ma.isMaskedArray(model):
        raise ValueError("Predictions with rows that are handed over have no cost of their own; give those decided.")
    if ends_in_learner(model):
        ruled = rule(X) if callable(rule) else rule  # by the rows as they were given
        model, X, _ = reach(model, X)
        return _savings_of_model(model, X, Y, cost, unit, ruled, Y_train, probabilities, sample_weight)
    if hasattr(model, "predict"):
        raise TypeError(
            f"A {type(model).__name__} is no learner of clems; give what it predicts, savings(model.predict(X), ...), "
            "and probabilities= for the comparison with ½."
        )
    if cost is None:
        raise ValueError("What a row costs must be given as cost with predictions, such as cost='f1'.")
    truth, predicted = map(as_dense, as_label_pair(Y, model, rowwise=True))
    names = [*names_of_pair(Y, model)]
    criterion = get_criterion(cost).for_labels(names)
    if not criterion.of_single_rows:
        raise ValueError(_not_of_rows(criterion.name))
    against = simple_answers(truth.shape[1])
    if Y_train is not None:
        against[CONSTANT] = constant_of(as_labels(Y_train, "Y_train"), criterion.cost)
    if rule is not None:
        against[RULE] = _checked_rule(as_labels(rule(X) if callable(rule) else rule, "rule"), truth)
    if probabilities is not None:
        against = {HALF: at_half(_probabilities(probabilities, truth.shape)), **against}
    others = {name: Alternative(np.broadcast_to(labels, truth.shape), None) for name, labels in against.items()}
    return compared(criterion.cost, truth, Alternative(predicted, None), others, unit, sample_weight, names)


def _savings_of_model(
    model: MultiLabelClassifier,
    X: Any,
    Y: Any,
    cost: Any,
    unit: str,
    rule: Any,
    Y_train: Any,
    probabilities: Any,
    sample_weight: Any,
) -> Savings:
    if probabilities is not None:
        raise ValueError("probabilities belong to predictions; a learner has its own.")
    truth = as_dense(check_labels(model, Y))
    if cost is not None and not model.cost_at_predict:
        # It decides as it was trained, and is judged by this cost.
        criterion, decided_for = get_criterion(cost).for_labels(model.classes_.tolist(), model._propensities), None
    else:
        criterion, decided_for = model.criterion_ if cost is None else model._resolved(cost), cost
    if not criterion.of_single_rows:
        raise ValueError(_not_of_rows(criterion.name))
    given = None if Y_train is None else check_labels(model, Y_train)
    against = simple_answers(truth.shape[1], model, criterion.cost, given)
    if rule is not None:
        against[RULE] = _checked_rule(check_labels(model, rule), truth)
    answers = answers_of(model, X, decided_for, against=against)
    return savings_of(model, answers, truth, unit, criterion.cost, sample_weight)


def savings_of(
    model: MultiLabelClassifier,
    answers: Answers,
    truth: Labels,
    unit: str = "",
    cost: Cost | None = None,
    sample_weight: ArrayLike | None = None,
) -> Savings:
    """Compute what a model saves from what it answered about rows; None is the model's own cost."""
    answered = Alternative(answers.predicted, answers.expected)
    row_cost = model.cost_ if cost is None else cost
    names = model.classes_.tolist()
    return compared(row_cost, as_dense(truth), answered, answers.against, unit, sample_weight, names)


def simple_answers(K: int, model: Any = None, cost: Cost | None = None, Y_train: Any = None) -> dict[str, Bits]:
    """Name label vectors that are given to every row: none, all, and the best constant where training rows are known.

    Parameters
    ----------
    K : int
        Number of labels.
    model : learner, default=None
        One that keeps the label vectors of training and how frequent they were.
    cost : Cost, default=None
        What the constant is the best for.
    Y_train : ndarray or CSR array of shape (m, K), default=None
        Labels of training, if they are given.
    """
    constants = {NOTHING: np.zeros(K, np.uint8), EVERYTHING: np.ones(K, np.uint8)}
    if Y_train is not None and cost is not None:
        constants[CONSTANT] = constant_of(Y_train, cost)
    elif hasattr(model, "candidates_") and cost is not None:
        constants[CONSTANT] = best_constant(cost, model.candidates_.labels, model.candidates_.frequency)
    return constants


def constant_of(Y: Any, cost: Cost) -> Bits:
    """Label vector of the least mean cost over rows of labels."""
    vectors, frequency = np.unique(as_dense(Y), axis=0, return_counts=True)
    return best_constant(cost, vectors, frequency.astype(np.float64))


def best_constant(cost: Cost, labels: Labels, frequency: Floats) -> Bits:
    """Label vector of the least mean cost if truths are as frequent as given.

    That is the decision for a single row with this distribution: over all label vectors where the cost has an exact
    rule, else over these and what a search finds.
    """
    share = sparse.csr_array((frequency / frequency.sum())[None])
    return np.asarray(Posterior(labels.astype(np.uint8), share).decide(cost)[0])


def compared(
    cost: Cost,
    truth: Bits,
    answered: Alternative,
    against: Mapping[str, Alternative],
    unit: str = "",
    sample_weight: ArrayLike | None = None,
    names: Sequence[Any] = (),
) -> Savings:
    """Compare what predictions cost with what others would have cost; :func:`savings` explains how."""
    n = len(truth)
    if not n:
        raise ValueError("Savings need at least one row.")
    weight = np.ones(n) if sample_weight is None else as_weights(sample_weight, n)
    everyone = [answered, *against.values()]
    costs = np.array([cost.rowwise(truth, one.predicted) for one in everyone])
    paid = costs @ weight
    counts = drawn(n, RESAMPLES, np.random.default_rng(0)) * weight
    # Σ_i w_i d_i over a resample, as a mean: totals are those of as much weight as all rows have.
    resampled = counts @ (costs[1:] - costs[0]).T / counts.sum(axis=1, keepdims=True).clip(1e-300)
    low, high = ends(resampled)
    total = weight.sum()
    saved = paid[1:] - paid[0]
    expected = [np.nan if one.expected is None else float(one.expected @ weight) for one in everyone]
    table = pd.DataFrame(
        {
            "paid": paid[1:],
            "saved": saved,
            "low": low * total,
            "high": high * total,
            "saved_per_row": saved / total,
            "low_per_row": low,
            "high_per_row": high,
            "expected": np.array(expected[1:]) - expected[0],
        },
        index=pd.Index([*against], name="against"),
    )
    lacking = []
    if HALF not in against:
        lacking.append("Without probabilities of labels there is no comparison with ½ thresholds.")
    if CONSTANT not in against:
        lacking.append("Without the labels of training rows there is no comparison with the best constant.")
    known = None if answered.expected is None else expected[0]
    labels = _by_label(cost, truth, answered, against, weight, names) if isinstance(cost, PriceCost) else None
    return Savings(cost.name, unit, n, float(paid[0]), known, table, tuple(lacking), labels)


def _by_label(
    cost: PriceCost,
    truth: Bits,
    answered: Alternative,
    against: Mapping[str, Alternative],
    weight: Floats,
    names: Sequence[Any],
) -> pd.DataFrame:
    """Divide what was paid and saved among the labels whose mistakes cost it."""
    fn, fp = cost.prices(truth.shape[1])

    def paid(predicted: Bits) -> Floats:
        return weight @ ((truth > predicted) * fn + (truth < predicted) * fp)

    own = paid(answered.predicted)
    index = pd.Index([str(name) for name in names or range(truth.shape[1])], name="label")
    columns = {"paid": own} | {name: paid(one.predicted) - own for name, one in against.items()}
    return pd.DataFrame(columns, index=index)


def amount(value: float, unit: str = "") -> str:
    """Write an amount: whole numbers from 100 on, else three digits.

    Examples
    --------
    >>> from clems.evaluation.savings import amount
    >>> amount(2603.4, "€"), amount(13.017, "€"), amount(-0.52)
    ('2,603 €', '13 €', '−0.52')
    """
    if value != value:
        return "–"
    number = f"{abs(value):,.0f}" if abs(value) >= 100 else f"{abs(value):.3g}"
    sign = "−" if value < 0 and float(number.replace(",", "")) else ""
    return f"{sign}{number}{f' {unit}' if unit else ''}"


def _not_of_rows(name: str) -> str:
    return f"{name} is no cost of single rows, so no row saves any of it; name one that is, such as cost='f1'."


def _checked_rule(labels: Labels, truth: Bits) -> Bits:
    if labels.shape != truth.shape:
        raise ValueError(f"rule must predict labels of the shape of Y, {truth.shape}; it predicts {labels.shape}.")
    return as_dense(labels)


def _probabilities(given: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = np.asarray(given, np.float64)
    if array.shape != shape:
        raise ValueError(f"probabilities must have the shape {shape}, one for each row and label; got {array.shape}.")
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError("probabilities must be between 0 and 1.")
    return array
