"""ECC: error-correcting codes of label vectors, whose bits are learned a few at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clems.arrays import Bits, Integers, Labels, Weights, row_blocks
from clems.checks import check_count
from clems.embedding.codewords import grouped, make_code
from clems.labels.distinct import distinct_rows
from clems.labels.matrix import as_dense
from clems.learners.base import Profile
from clems.learners.by_division import DividedClassifier, Problem
from clems.trees.reading import check_reach, predictions_of


class ECC(DividedClassifier):
    """Error-correcting codes: more bits than labels are learned, so that labels are right even if some bits are wrong.

    Label vectors become codewords. Their bits are divided at random into groups of three. Each group has one
    classifier, whose classes are the combinations of bits seen in training (RAkEL). The predictions of all groups are
    decoded together.

    Parameters
    ----------
    code : {"hamr", "rrep"} or callable, default="hamr"
        "rrep" repeats the labels, and the majority of its copies decides a label: RAkEL with disjoint groups. "hamr"
        adds Hamming's (7,4) code, which corrects a wrong bit in each block of seven before the vote. Where just half of
        the copies say so, a label is not predicted. A code of your own is a class or function of the number of labels
        and the most bits that makes an object with `length`, `encode` and `decode`, see
        :class:`clems.embedding.codewords.Code`.
    n_components : int, float or None, default=None
        Most bits of a codeword: a number, or a multiple of the number of labels K as a float. None is 4 K, or more for
        few labels if the code needs it. "hamr" uses whole blocks of seven bits and needs one for each four labels.
    group_size : int, default=3
        How many bits a classifier learns together.
    estimator : estimator, default=None
        Any scikit-learn classifier of several classes; None is a forest,
        :func:`clems.trees.growing.default_classifier`.
    n_trees : int, default=100
        Trees of the default forest; a given estimator has its own number.
    n_jobs : int, default=None
        How many groups are trained at a time; in prediction, how many trees of the default forest work at a time.
    random_state : int, RandomState or None, default=None
        Seed of the groups, and of the classifiers where they have none.
    verbose : int, default=0
        1 prints a line per stage.

    Attributes
    ----------
    code_ : Code
        `encode`, `decode` and `length`, the number of bits.
    groups_ : list of Group
        `bits`, which of them are learned together, and their `combinations`, those that can be predicted.
    estimators_ : list
        Fitted classifiers in this order, whose classes are numbers of combinations; for bits that were always the same,
        one that says so.
    reconstruction_error_ : float
        Share of the entries of the training labels that are wrong when codewords are decoded as they are; 0 for both
        codes.
    cost_ : Cost
        What `score` measures: the learner takes no cost, so as in scikit-learn it is subset accuracy.
    classes_ : ndarray of shape (K,)
        Names of the labels: columns of the DataFrame, members of the label sets, or numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of features, if all are strings.

    References
    ----------
    Ferng & Lin (2013), Multilabel classification using error-correcting codes of hard or soft bits, IEEE Transactions
    on Neural Networks and Learning Systems 24. Tsoumakas, Katakis & Vlahavas (2011), Random k-labelsets for multilabel
    classification, IEEE Transactions on Knowledge and Data Engineering 23.

    Examples
    --------
    >>> from clems import ECC
    >>> from clems.datasets import digit_scenes
    >>> X, Y = digit_scenes(300, random_state=0)
    >>> model = ECC("hamr", random_state=0).fit(X[:200], Y[:200])
    >>> model.code_.length, len(model.groups_), model.predict(X[200:]).shape
    (35, 12, (100, 10))
    """

    profile = Profile(
        "expansion",
        "nothing beyond its classifiers",
        "4 K / 3 F",
        "n M",
    )

    def __init__(
        self,
        code: Literal["hamr", "rrep"] | Callable[[int, int], Any] = "hamr",
        *,
        n_components: int | float | None = None,
        group_size: int = 3,
        estimator: Any = None,
        n_trees: int = 100,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.code = code
        self.n_components = n_components
        self.group_size = group_size
        self.estimator = estimator
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _fit(self, X: Any, Y: Labels, weight: Weights, random_state: np.random.RandomState) -> None:
        labels = as_dense(Y)
        K = labels.shape[1]
        group_size = check_count(self.group_size, "group_size")
        self.code_ = code = make_code(self.code, K, self.n_components)
        # Bits with the same values for all vectors of a single label are copies of one another.
        kinds = distinct_rows(_encoded(code, np.eye(K, dtype=np.uint8)).T)[1]
        parts = grouped(kinds, group_size, random_state)
        prototypes = self._prototypes(len(parts), weight, random_state)
        bits = _encoded(code, labels)
        wrong = sum(int((code.decode(bits[rows]) != labels[rows]).sum()) for rows in row_blocks(*bits.shape))
        self.reconstruction_error_ = wrong / labels.size
        self.groups_, problems = [], []
        for part in parts:
            combinations, which = distinct_rows(bits[:, part])
            self.groups_.append(Group(part, combinations))
            problems.append(GroupProblem(part, labels[:, :0], which, weight))
        self._say(f"code: {bits.shape[1]} bits for {K} labels in {len(parts)} groups")
        self.estimators_ = self._fit_each(prototypes, X, problems)

    def _predict(self, X: Any) -> Bits:
        bits = np.empty((X.shape[0], self.code_.length), np.uint8)
        for group, estimator in zip(self.groups_, self.estimators_, strict=True):
            bits[:, group.bits] = group.combinations[combination(estimator, X, len(group.combinations))]
        return np.asarray(self.code_.decode(bits), np.uint8)

    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        self.estimators_ = [new(estimator) for estimator in self.estimators_]


@dataclass(frozen=True)
class Group:
    """Bits that are learned together.

    Attributes
    ----------
    bits : ndarray of shape (k,)
        Which bits of the codeword they are.
    combinations : ndarray of shape (C, k)
        Their values in training, each combination once.
    """

    bits: Integers
    combinations: Bits


class GroupProblem(Problem):
    """What the classifier of a group is trained on; the target is the number of each row's combination."""

    def __str__(self) -> str:
        return f"the bits {self.name.tolist()}, which have {self.target.max() + 1} combinations"


def combination(estimator: Any, X: Any, number: int) -> Integers:
    """Predict which of so many combinations of bits each row has."""
    check_reach(estimator, X)
    predicted = np.asarray(predictions_of(estimator, X))
    if not np.isin(predicted, np.arange(number)).all():
        raise ValueError(f"The estimator {type(estimator).__name__} predicted classes that it was not trained on.")
    return predicted.astype(np.intp)


def _encoded(code: Any, labels: Bits) -> Bits:
    """Codewords, which must be as long as the code says, zeros and ones."""
    bits = np.asarray(code.encode(labels))
    if bits.shape != (len(labels), code.length) or not np.isin(bits, (0, 1)).all():
        raise ValueError(
            f"{type(code).__name__}.encode must return zeros and ones of shape {(len(labels), code.length)}; it "
            f"returned {bits.dtype} of shape {bits.shape}."
        )
    return bits.astype(np.uint8)
