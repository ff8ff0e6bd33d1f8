"""Columns as they come: what each holds, and how it becomes features that every learner takes."""

from clems.datasets.encoding.encoder import ColumnNote, TableEncoder
from clems.datasets.encoding.kinds import KINDS

__all__ = ["KINDS", "ColumnNote", "TableEncoder"]
