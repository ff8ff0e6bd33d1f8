"""From marginals to posteriors: what is assumed of labels together, and its choice on held-out rows.

Labels are *independent* given the features, or only label vectors of training are *observed* again. The latter has a
power of how frequent vectors are and a sharpness: where labels go together, the product of their probabilities counts
the same evidence several times and is too sure. Both are chosen by the log loss of the marginals of held-out rows, so
that these, and expected costs, stay as right as the calibrated probabilities are; what is still wrong with these
marginals is calibrated again, as costs that are sums over labels depend on nothing else. Then held-out rows are decided
both ways, and the cheaper one is taken; of two that cost about the same, the one whose expected cost was nearer to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from clems.arrays import Bits, Floats, Integers, Weights
from clems.costs.criteria import Criterion
from clems.posterior.calibration import Calibrator, Unchanged, calibrate
from clems.posterior.distribution import Posterior, sharpened
from clems.posterior.given import shares_of_candidates
from clems.posterior.independent import IndependentPosterior
from clems.posterior.one_standard_error import log_loss_per_row, once, one_standard_error, root_of_ratio

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
SHARPNESS = (1.0, 0.85, 0.7, 0.6, 0.5, 0.4, 0.3)
UNCHANGED = Unchanged()


@dataclass(frozen=True)
class Independent:
    """Labels are independent of each other."""

    name = "independent"
    width = 1  # numbers that a row takes, beside its marginals

    def __call__(self, marginals: Floats) -> Posterior:
        """Return the posterior of rows with these marginals, shape (n, K)."""
        return IndependentPosterior(marginals)


@dataclass(frozen=True, eq=False)
class Observed:
    """Only candidates occur: ``q_i ∝ frequency_i^power · (Π_k p_k^{S_ik} (1 − p_k)^{1 − S_ik})^sharpness``.

    Attributes
    ----------
    labels : ndarray of shape (L, K)
        The candidates, label vectors of which no two are alike.
    frequency : ndarray of shape (L,)
        How frequent each is, above 0.
    power : float
        Power of the frequency.
    sharpness : float
        Power of the product.
    calibrator : Calibrator
        Function from the marginals of this distribution to calibrated ones, of the labels that vary among candidates.
    """

    labels: Bits
    frequency: Floats
    power: float
    sharpness: float
    calibrator: Calibrator = UNCHANGED
    name = "observed"

    @property
    def width(self) -> int:
        """Numbers that a row takes, beside its marginals."""
        return len(self.labels)

    def __call__(self, marginals: Floats) -> Posterior:
        """Return the posterior of rows with these marginals, shape (n, K)."""
        share = shares_of_candidates(marginals, self.labels, self.frequency, self.power / self.sharpness)
        posterior = Posterior(self.labels, sharpened(share, self.sharpness))
        varied = _varied(self.labels)
        calibrated = np.tile(self.labels[0].astype(np.float64), (len(marginals), 1))  # what all candidates have is sure
        calibrated[:, varied] = self.calibrator(posterior.marginals[:, varied])
        return _with_marginals(posterior, calibrated)


Joint = Independent | Observed


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out rows, and what their classifiers were trained on.

    Attributes
    ----------
    marginals : ndarray of shape (m, K)
        Calibrated probabilities of labels.
    truth : ndarray of shape (m, K)
        Their labels.
    weight : ndarray of shape (m,) or None
        Their sample weights.
    fold : ndarray of shape (m,)
        Number of the fold of each.
    candidates : ndarray of shape (L, K)
        Label vectors of all training rows, no two alike.
    by_fold : ndarray of shape (F, L)
        How frequent these are among the rows to train on of each fold.
    frequency : ndarray of shape (L,)
        How frequent they are among all training rows.
    """

    marginals: Floats
    truth: Bits
    weight: Weights
    fold: Integers
    candidates: Bits
    by_fold: Floats
    frequency: Floats

    def observed(self, frequency: Floats, power: float, sharpness: float) -> Observed:
        """Return the joint distribution over the candidates that there are."""
        seen = frequency > 0
        return Observed(self.candidates[seen], frequency[seen], power, sharpness)

    def ask(
        self,
        joint: Callable[[Floats], Joint],
        question: Callable[[Posterior, Bits], Floats],
        calibrated: Floats | None = None,
    ) -> Floats:
        """Ask for something of each row, by the joint distribution that the training rows of its fold make.

        Parameters
        ----------
        joint : callable
            Function from frequencies of candidates, shape (L,), to a joint distribution.
        question : callable
            Function of a posterior and of the truths of its rows; returns an array with a row for each.
        calibrated : ndarray of shape (m, K), default=None
            Marginals of the rows that take the place of those of the distribution.
        """
        folds = np.unique(self.fold)
        here = [np.flatnonzero(self.fold == fold) for fold in folds]
        answers = []
        for fold, rows in zip(folds, here, strict=True):
            posterior = joint(self.by_fold[fold])(self.marginals[rows])
            own = posterior if calibrated is None else _with_marginals(posterior, calibrated[rows])
            answers.append(question(own, self.truth[rows]))
        return np.concatenate(answers)[np.concatenate(here).argsort()]


def choose_joint(
    held_out: HeldOut, criterion: Criterion, names: tuple[str, ...]
) -> tuple[Joint, dict[str, float], Floats]:
    """Choose what to assume of labels together.

    Parameters
    ----------
    held_out : HeldOut
        On which it is chosen.
    criterion : Criterion
        What is decided for. One of all rows together is chosen for by log loss.
    names : tuple of str
        What there is to choose from, "independent" or "observed", the usual one first, see
        :func:`cheaper_or_more_honest`.

    Returns
    -------
    joint : Joint
        Made of all training rows.
    losses : dict of str to float
        Mean loss of held-out rows by each.
    marginals : ndarray of shape (m, K)
        Of the held-out rows, by the one that was chosen.
    """
    kinds: dict[str, Callable[[Floats], Joint]] = {"independent": lambda _: Independent()}
    marginals: dict[str, Floats | None] = {"independent": None}
    calibrator: Calibrator = Unchanged()
    if "observed" in names:
        kinds["observed"], calibrator, marginals["observed"] = once(held_out, "observed", partial(_observed, held_out))

    paid, expected = {}, {}
    for name in names:
        paid[name], expected[name] = held_out.ask(kinds[name], partial(_costs, criterion), marginals[name]).T
    if (held_out.marginals[:, ~held_out.candidates.any(axis=0)] > 0).any():
        # Candidates that lack a label, which probabilities do not rule out, have to be cheaper.
        name = one_standard_error({**paid}, names[0], held_out.weight)
    else:
        name = cheaper_or_more_honest(paid, expected, names[0], held_out.weight)
    joint = kinds[name](held_out.frequency)
    if isinstance(joint, Observed):
        joint = replace(joint, calibrator=calibrator)
    means = {name: float(np.average(own, weights=held_out.weight)) for name, own in paid.items()}
    return joint, means, held_out.ask(kinds[name], lambda posterior, _: posterior.marginals, marginals[name])


def _observed(held_out: HeldOut) -> tuple[Callable[[Floats], Joint], Calibrator, Floats]:
    """Choose power and sharpness by log loss, whatever the cost, and calibrate; with marginals of held-out rows."""
    shapes = [
        partial(held_out.observed, power=power, sharpness=sharpness) for power, sharpness in product(POWERS, SHARPNESS)
    ]
    log_losses = [held_out.ask(shape, _log_losses) for shape in shapes]
    kind = shapes[int(np.argmin(np.average(log_losses, axis=1, weights=held_out.weight)))]
    return kind, *_calibrated(held_out, kind)


def paid_over_expected(held_out: HeldOut, joint: Joint, criterion: Criterion) -> float:
    """Return the square root of what decisions for held-out rows cost over what they were expected to cost."""

    def compute() -> float:
        kind, marginals = _as_held_out(held_out, joint)
        paid, expected = held_out.ask(kind, partial(_costs, criterion), marginals).T
        return root_of_ratio(paid, expected, held_out.weight)

    ratio: float = once(held_out, ("paid over expected", joint.name, criterion.cost), compute)
    return ratio


def _as_held_out(held_out: HeldOut, joint: Joint) -> tuple[Callable[[Floats], Joint], Floats | None]:
    """Return how training rows of a fold make such a joint distribution, and calibrated marginals of held-out rows."""
    if not isinstance(joint, Observed):
        return lambda _: joint, None
    kind = partial(held_out.observed, power=joint.power, sharpness=joint.sharpness)
    return kind, _calibrated(held_out, kind)[1]


def _costs(criterion: Criterion, posterior: Posterior, truth: Bits) -> Floats:
    """Return what each row costs and what was expected of it, shape (m, 2); log losses where no row has a cost."""
    if not criterion.of_single_rows:
        return np.repeat(_log_losses(posterior, truth)[:, None], 2, axis=1)
    decided = posterior.decide(criterion.cost)
    return np.column_stack([criterion.cost.of_rows(truth, decided), posterior.expected_of(criterion.cost, decided)])


def cheaper_or_more_honest(
    paid: Mapping[str, Floats], expected: Mapping[str, Floats], usual: str, weight: Weights
) -> str:
    """Choose by what held-out rows cost; of those that cost about the same, by what they were expected to cost.

    Parameters
    ----------
    paid, expected : mapping of str to ndarray of shape (m,)
        What rows cost by each choice, and what they were expected to cost.
    usual : str
        The one that others have to beat by more than a paired standard error. If none does, the choice is among those
        that it does not beat by so much.
    weight : ndarray of shape (m,) or None
        Sample weights of the rows.
    """
    cheapest = one_standard_error({**paid}, usual, weight)
    if cheapest != usual:
        return str(cheapest)
    as_good = [
        name for name, own in paid.items() if one_standard_error({name: own, usual: paid[usual]}, name, weight) == name
    ]
    return min(as_good, key=lambda name: abs(np.average(paid[name] - expected[name], weights=weight)))


def _calibrated(held_out: HeldOut, joint: Callable[[Floats], Joint]) -> tuple[Calibrator, Floats]:
    """Calibrate the marginals of a joint distribution; also return those of held-out rows, each by other folds."""
    marginals, varied = held_out.ask(joint, lambda posterior, _: posterior.marginals), _varied(held_out.candidates)
    calibrator: Calibrator = Unchanged()
    if varied.any():
        calibrator, marginals[:, varied], _ = calibrate(
            marginals[:, varied], held_out.truth[:, varied], held_out.weight, held_out.fold, ["none", "sigmoid"], False
        )
    return calibrator, marginals


def _varied(labels: Bits) -> NDArray[np.bool_]:
    """Which labels some vectors have and others lack."""
    return np.asarray(labels.min(axis=0) < labels.max(axis=0))


def _with_marginals(posterior: Posterior, marginals: Floats) -> Posterior:
    return Posterior(posterior.labels, posterior.share, marginals=marginals)


def _log_losses(posterior: Posterior, truth: Bits) -> Floats:
    return log_loss_per_row(posterior.marginals, truth)
