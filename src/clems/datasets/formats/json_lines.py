"""JSON lines: a JSON object for each row, as predictions are written for other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

import pandas as pd

from clems.datasets.formats.format import Format


@contextmanager
def append_json_lines(file: IO[bytes]) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Write DataFrames of the same columns one below the other."""

    def append(frame: pd.DataFrame) -> None:
        if len(frame):
            lines = frame.to_json(orient="records", lines=True, force_ascii=False, double_precision=15)
            file.write(lines.encode())

    yield append


JSON_LINES = Format(name="JSON lines", suffixes=(".jsonl", ".ndjson"), append=append_json_lines)
