"""Checks of parameters that are numbers."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np


def check_count(value: Any, name: str, least: int = 1, most: int | None = None) -> int:
    """Check a parameter that is a whole number, by default of at least 1."""
    is_count = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if not is_count or int(value) < least or (most is not None and int(value) > most):
        limit = "" if most is None else f" and at most {most}"
        raise ValueError(f"{name} must be a whole number of at least {least}{limit}; got {value!r}.")
    return int(value)


def check_number(value: Any, name: str, instead: str = "") -> float:
    """Check a parameter that is a finite number of at least 0; `instead` names what else is allowed."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if not is_number or not np.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be {instead}a finite number of at least 0; got {value!r}.")
    return float(value)


def check_tol(tol: Any) -> None:
    """Check the change below which an iteration stops."""
    if not isinstance(tol, numbers.Real) or isinstance(tol, (bool, np.bool_)) or not float(tol) >= 0:
        raise ValueError(f"tol must be a number of at least 0; got {tol!r}.")


def check_components(n_components: int | float | None, K: int) -> int:
    """Resolve the embedded dimension: a number, a multiple of the number of labels, or None for that number."""
    if n_components is None:
        return K
    is_number = isinstance(n_components, numbers.Real) and not isinstance(n_components, (bool, np.bool_))
    if not is_number or not np.isfinite(n_components):
        raise ValueError(
            f"n_components must be a whole number, a multiple of K as a float, or None; got {n_components!r}."
        )
    size = int(n_components) if isinstance(n_components, numbers.Integral) else round(float(n_components) * K)
    if n_components <= 0 or (isinstance(n_components, numbers.Integral) and size < 1):
        raise ValueError(f"n_components must be at least 1, or a positive multiple of K; got {n_components!r}.")
    return max(1, size)
