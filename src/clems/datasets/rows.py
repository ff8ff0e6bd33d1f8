"""Rows of a table, as sentences about what is wrong call them: by line where it is known, else by number."""

from __future__ import annotations

from collections.abc import Callable

from clems.datasets.text.decimals import number_in
from clems.datasets.text.source import DataError, Limits, Origin


class Rows(Origin):
    """Rows of a table, which faults call by number or, if it is known, by line; and the point in their numbers."""

    def __init__(
        self, name: str, limits: Limits | None, line_of: Callable[[int], int] | None = None, decimal: str = "."
    ) -> None:
        super().__init__(name, limits)
        self._line_of = line_of
        self.decimal = decimal

    def number(self, text: str) -> float | None:
        """Read a number, perhaps an infinite one."""
        return number_in(text, self.decimal)

    @property
    def has_lines(self) -> bool:
        """Whether it was read from lines of text."""
        return self._line_of is not None

    def row_fault(self, what: str, row: int, text: object = None) -> DataError:
        """Put a sentence about a row together."""
        shown = None if text is None else str(text)
        if self._line_of is None:
            return self.fault(f"{what}, in row {row}", text=shown)
        return self.fault(what, self._line_of(row), shown)
