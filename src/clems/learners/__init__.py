"""Learners: one file per algorithm, and `LEARNERS`, the registry that everything else iterates over."""

from clems.learners.clems import CLEMS

LEARNERS = {"clems": CLEMS}

__all__ = ["CLEMS", "LEARNERS"]
