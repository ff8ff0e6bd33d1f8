"""What users have: marginals, samples and weights of label sets, in the forms that other libraries give, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from clems.arrays import Bits, Floats, canonical, row_blocks
from clems.checks import check_number
from clems.labels.distinct import distinct_rows
from clems.labels.matrix import as_dense, as_labels
from clems.wording import first_few

ROUNDING = 1e-9  # by which a probability may be outside 0 to 1
SUMS = 1e-3  # by which the probabilities of two classes, perhaps in single precision, may add up to other than 1
SHARES = 1e-6  # by which the shares of a row may
IMPOSSIBLE = 1e-300  # probabilities below are taken for this one, so that one that is 0 leaves candidates comparable
NEGLIGIBLE = 1e-15  # shares below this part of a row's greatest are 0


def as_marginals(P: Any, name: str = "P") -> tuple[Floats, NDArray[Any] | None]:
    """Read how probable each label is for each row.

    Parameters
    ----------
    P : array-like, sparse matrix, DataFrame, tensor or list of K arrays of shape (n, 2)
        Probabilities, of shape (n, K).
    name : str, default="P"
        What to call it in an error.

    Returns
    -------
    marginals : ndarray of shape (n, K)
        Values that are outside 0 to 1 by no more than 10⁻⁹ are moved there.
    names : ndarray of shape (K,) or None
        Names of the labels, where a frame has them.
    """
    names = np.asarray(P.columns) if hasattr(P, "columns") else None
    if isinstance(P, (list, tuple)) and P and all(np.ndim(_as_array(part)) == 2 for part in P):
        P = _of_outputs([_as_array(part) for part in P], name)
    array = _as_array(P)
    if array.ndim != 2 or not array.shape[1]:
        samples = " Samples of label vectors go to Posterior.from_samples." if array.ndim == 3 else ""
        raise ValueError(
            f"{name} must hold the probability of each label for each row, of shape (n, K); its shape is "
            f"{array.shape}.{samples}"
        )
    return _checked(array, name, names, "probabilities are between 0 and 1; scores become such by calibration"), names


def _as_array(given: Any) -> NDArray[Any]:
    """Return what was given as an array: sparse matrices dense, tensors without their history and on the CPU."""
    if sparse.issparse(given):
        return np.asarray(given.toarray())
    if hasattr(given, "detach"):
        given = given.detach().cpu()
        given = given.double() if hasattr(given, "double") else given
    try:
        return np.asarray(given)
    except ValueError:
        raise ValueError("Probabilities must be a matrix; these are rows of different lengths.") from None


def _of_outputs(parts: list[NDArray[Any]], name: str) -> NDArray[Any]:
    """Take the second of two columns for each label, as the multi-output classifiers of scikit-learn give them."""
    for label, part in enumerate(parts):
        if part.shape[1] == 1:
            raise ValueError(
                f"{name}[{label}] has one column: the classifier saw one class of label {label} alone, and its "
                "probabilities do not say which; give columns for the classes 0 and 1."
            )
        if part.shape != (len(parts[0]), 2):
            raise ValueError(
                f"{name}, a list of one array for each label, must hold arrays of shape (n, 2), a column for each "
                f"of the classes 0 and 1; {name}[{label}] has the shape {part.shape}, {name}[0] "
                f"{parts[0].shape}."
            )
        off = abs(_checked(part, f"{name}[{label}]", None, "probabilities are between 0 and 1").sum(axis=1) - 1) > SUMS
        if off.any():
            raise ValueError(
                f"{name}[{label}] must hold probabilities of two classes; row {off.argmax()} adds up to "
                f"{part[off.argmax()].sum():g}."
            )
    return np.stack([part[:, 1] for part in parts], axis=1)


def _checked(array: NDArray[Any], name: str, names: NDArray[Any] | None, allowed: str) -> Floats:
    """Check numbers between 0 and 1, or say where the first one is that is not."""

    def refuse(wrong: NDArray[np.bool_]) -> None:
        if wrong.any():
            row, column = (int(index) for index in np.unravel_index(wrong.argmax(), wrong.shape))
            where = column if names is None else repr(names[column])
            raise ValueError(f"{name} has the value {array[row, column]} in row {row}, column {where}; {allowed}.")

    if array.dtype.kind == "O":
        refuse(np.frompyfunc(_is_no_number, 1, 1)(array).astype(bool))
    elif array.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds values of type {array.dtype}; {allowed}.")
    values = array.astype(np.float64)
    refuse(~((values >= -ROUNDING) & (values <= 1 + ROUNDING)))
    return np.clip(values, 0, 1)


def _is_no_number(value: Any) -> bool:
    try:
        return isinstance(value, str) or not np.isreal(float(value))
    except (TypeError, ValueError):
        return True


def as_candidates(Y: Any, K: int, names: NDArray[Any] | None) -> tuple[Bits, Floats]:
    """Read label vectors that rows may have; return the distinct ones and how often each is there.

    Parameters
    ----------
    Y : array-like, sparse matrix or DataFrame of shape (L, K)
        Zeros and ones. Columns of a frame are matched by name.
    K : int
        Number of labels.
    names : ndarray of shape (K,) or None
        Names of the labels, if they are known.
    """
    if names is not None and hasattr(Y, "columns") and not np.array_equal(names, Y.columns):
        missing, unknown = (
            [one for one in names if one not in Y.columns],
            [one for one in Y.columns if one not in names],
        )
        if missing or unknown:
            which = [f"candidates lack {first_few(missing)}"] * bool(missing)
            which += [f"P lacks {first_few(unknown)}"] * bool(unknown)
            raise ValueError(f"P and candidates must have the same labels; {' and '.join(which)}.")
        Y = Y[[*names]]
    labels = as_labels(Y, "candidates")
    if not labels.shape[0] or labels.shape[1] != K:
        raise ValueError(f"candidates must be one or more vectors of {K} labels; their shape is {labels.shape}.")
    distinct, index = distinct_rows(labels)
    return distinct, np.bincount(index, minlength=len(distinct)).astype(np.float64)


def shares_of_candidates(marginals: Floats, labels: Bits, frequency: Floats, prior_power: Any) -> Any:
    """Compute shares of candidates, a CSR array (n, L): ``q_i ∝ prior_i^γ Π_k p_k^{S_ik} (1 − p_k)^{1 − S_ik}``."""
    power = check_number(prior_power, "prior_power")
    share = np.maximum(frequency / frequency.sum(), np.finfo(np.float64).tiny)  # weights may be as small as numbers are
    prior = power * np.log(share)
    present, parts = labels.T.astype(np.float64), []
    for rows in row_blocks(len(marginals), len(labels)):
        p = marginals[rows]
        yes, no = (np.log(np.maximum(part, IMPOSSIBLE)) for part in (p, 1 - p))
        # Σ_k S_k log p_k + (1 − S_k) log(1 − p_k)
        log_share = prior + yes @ present + no @ (1 - present)
        share = np.exp(log_share - log_share.max(axis=1, keepdims=True))
        share[share < NEGLIGIBLE] = 0
        parts.append(sparse.csr_array(share / share.sum(axis=1, keepdims=True)))
    return sparse.vstack(parts, "csr") if parts else sparse.csr_array((0, len(labels)))


def shares_of_samples(S: Any) -> tuple[Bits, Any]:
    """Count samples of label vectors, shape (n, m, K); return the distinct vectors and their shares, (n, L)."""
    samples = _as_array(S)
    if samples.ndim != 3 or 0 in samples.shape[1:]:
        raise ValueError(
            f"Samples must hold m label vectors for each row, of shape (n, m, K); their shape is {samples.shape}."
        )
    n, m, K = samples.shape
    flat = samples.reshape(n * m, K)
    wrong = ~np.isin(flat, (0, 1)) if flat.dtype.kind in "biufO" else np.ones(flat.shape, bool)
    if wrong.any():
        at, label = np.unravel_index(wrong.argmax(), wrong.shape)
        raise ValueError(
            f"Samples must be zeros and ones; row {at // m}, sample {at % m} has the value {flat[at, label]} "
            f"for label {label}."
        )
    labels, index = distinct_rows(flat.astype(np.uint8))
    rows = np.repeat(np.arange(n), m)
    share = sparse.coo_array((np.full(n * m, 1 / m), (rows, index)), (n, len(labels))).tocsr()
    return labels, share


def shares_of_label_sets(labels: Any, shares: Any) -> tuple[Bits, Any]:
    """Check label vectors (L, K) and their shares (n, L); return the distinct vectors and a CSR array of shares."""
    vectors = as_labels(labels, "labels")
    given: Any = canonical(sparse.csr_array(shares), "shares") if sparse.issparse(shares) else _as_array(shares)
    if given.ndim != 2 or given.shape[1] != vectors.shape[0] or not vectors.shape[0]:
        raise ValueError(
            f"shares must have a column for each of {vectors.shape[0]} label vectors, of shape (n, L); their shape is "
            f"{given.shape}."
        )
    if sparse.issparse(given):
        wrong = ~((given.data >= -ROUNDING) & (given.data <= 1 + ROUNDING))
        if wrong.any():
            raise ValueError(f"shares holds the value {given.data[wrong.argmax()]}; shares are between 0 and 1.")
        share = sparse.csr_array((np.clip(given.data, 0, 1), given.indices, given.indptr), given.shape)
    else:
        share = sparse.csr_array(_checked(given, "shares", None, "shares are between 0 and 1"))
    total = share.sum(axis=1)
    off = abs(total - 1) > SHARES
    if off.any():
        raise ValueError(
            f"The shares of a row must add up to 1; those of row {off.argmax()} add up to {total[off.argmax()]:g}."
        )
    distinct, index = distinct_rows(vectors)
    merge = sparse.csr_array((np.ones(len(index)), (np.arange(len(index)), index)), (len(index), len(distinct)))
    merged = sparse.csr_array(share.multiply(1 / total[:, None])) @ merge
    merged.sort_indices()
    merged.eliminate_zeros()
    return as_dense(distinct), merged
