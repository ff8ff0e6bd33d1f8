"""What the numbers of a trial depend on besides the trial: versions of packages, and the linear algebra below them."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

PACKAGES = ("clems", "numpy", "scipy", "scikit-learn")  # whose versions may change the numbers


@cache
def versions() -> dict[str, str]:
    """Versions of what may change the numbers."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


@cache
def libraries() -> ThreadpoolController:
    """Linear algebra of this process; looked for once, as that takes as long as a short trial."""
    return ThreadpoolController()


def blas() -> list[dict[str, Any]]:
    """Libraries for linear algebra of this process: which, of which version, the kernel they run, and their threads.

    The kernel, called architecture, is chosen by the library for the processor it finds. Kernels add in different
    orders, so that sums differ in their last digits, and with them single runs of whatever grows trees on such sums.
    """
    loaded = [one for one in libraries().info() if one["user_api"] == "blas" and _computes_here(one["filepath"])]
    described = [
        {
            "library": one["internal_api"],
            "version": one["version"],
            "architecture": one.get("architecture"),
            "threads": one["num_threads"],
        }
        for one in loaded
    ]
    return sorted(described, key=lambda one: (one["library"], str(one["version"])))


def _computes_here(file: str) -> bool:
    """Whether a library is NumPy's or SciPy's, or shared: wheels bring their own in folders such as faiss_cpu.libs."""
    folder = Path(file).parent.name
    return not folder.endswith(".libs") or folder in ("numpy.libs", "scipy.libs")
