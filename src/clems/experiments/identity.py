"""What tells trials, data and costs from one another: checksums of all that changes the numbers."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Mapping
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from joblib import hash as joblib_hash  # type: ignore[import-untyped]

from clems.costs.cost import Cost
from clems.datasets import Dataset

DATA = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, np.ndarray)  # that code refers to


def digest(content: Any) -> str:
    """Compute the checksum of what JSON can write."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def fingerprint(dataset: Dataset | None, costs: Mapping[str, Cost]) -> str:
    """Compute the checksum of a dataset and of costs of the user."""
    content = dataset and [dataset.X, dataset.Y, *([] if dataset.table is None else [dataset.table])]
    return str(joblib_hash([content, {name: _identity(cost) for name, cost in costs.items()}]))[:16]


def model_checksum(model: Any) -> str:
    """Compute the checksum of a model that is not fitted; of one that no other process could be sent, by its text."""
    if can_be_sent(model):
        return str(joblib_hash(model))[:16]
    return digest([[name, repr(value)] for name, value in sorted(model.get_params().items())])[:16]


def can_be_sent(value: Any) -> bool:
    """Whether a value can be sent to other processes, and so has a checksum."""
    try:
        pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _identity(cost: Any, seen: frozenset[int] = frozenset()) -> Any:
    """Tell a cost from another one: a function by its code and by all that its code refers to and that may change."""
    function = getattr(cost, "function", cost)
    code = getattr(function, "__code__", None)
    if code is None:
        return cost
    if id(function) in seen:
        return function.__qualname__
    seen |= {id(function)}
    names = {name for part in _codes(code) for name in part.co_names}
    around = {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}
    around |= dict(zip(code.co_freevars, [cell.cell_contents for cell in function.__closure__ or ()], strict=True))
    values = {
        name: _identity(value, seen) if isinstance(value, FunctionType) else value
        for name, value in around.items()
        if isinstance(value, FunctionType) or (isinstance(value, DATA) and can_be_sent(value))
    }
    written = [
        [part.co_code, part.co_names, [one for one in part.co_consts if not isinstance(one, CodeType)]]
        for part in _codes(code)
    ]
    return [function.__qualname__, written, function.__defaults__, function.__kwdefaults__, values]


def _codes(code: CodeType) -> list[CodeType]:
    """Code of a function and of all functions that are written in it."""
    inner = [part for one in code.co_consts if isinstance(one, CodeType) for part in _codes(one)]
    return [code, *inner]
