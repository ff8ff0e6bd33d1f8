"""Saving fitted models to files and loading them, so that a file can never run code of its own.

`file` packs and unpacks, `trust` says what a file may ask for before any of it is built, and `soundness` looks at what
was built before any of it is used.
"""

from clems.persistence.file import ModelInfo, describe, info_of, load, save
from clems.persistence.trust import ModelError

__all__ = ["ModelError", "ModelInfo", "describe", "info_of", "load", "save"]
