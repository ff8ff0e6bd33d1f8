"""Learners whose fitted trees can be cut at any depth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from clems.checks import check_count
from clems.trees.reading import depth_of, truncated


class DepthPath(ABC):
    """A learner whose fitted trees can be cut at any depth."""

    depth_path = True

    def at_depth(self, depth: int) -> Self:
        """Return the model as it is with trees that end at a depth, without training anew.

        A tree that ends at a depth is the tree that would have been grown to it, so one fit serves all depths: choose
        the best on validation data. Estimators that are neither trees nor forests of scikit-learn's stay as they are.

        Parameters
        ----------
        depth : int
            Where trees end.

        Returns
        -------
        DepthPath
            A fitted model of the same kind.
        """
        check_is_fitted(self)
        depth = check_count(depth, "depth")
        other = copy(self)
        other._replace_estimators(partial(truncated, depth=depth))
        return other

    def get_depth(self) -> int:
        """Return the depth to which its deepest tree was grown; 0 if it has no trees."""
        check_is_fitted(self)
        depths: list[int] = []
        copy(self)._replace_estimators(lambda estimator: depths.append(depth_of(estimator)))
        return max(depths)

    @abstractmethod
    def _replace_estimators(self, new: Callable[[Any], Any]) -> None:
        """Put a function of each fitted estimator in its place."""
