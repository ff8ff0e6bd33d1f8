"""Reader for the Mulan files under CLEMS_DATA: as much as the benchmarks need."""

from __future__ import annotations

import lzma
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy import sparse

ATTRIBUTE = re.compile(r"(?im)^@attribute\s+('(?:[^'\\]|\\.)*'|\S+)\s+(\S+)")


def home() -> Path | None:
    folder = os.environ.get("CLEMS_DATA")
    return Path(folder) if folder else None


def load(name: str):
    """Features (CSR where the file is sparse) and labels of a dataset: its whole file, or train and test stacked."""
    folder = home()
    if folder is None or not (folder / name).is_dir():
        raise SystemExit(f"No dataset {name!r}: set CLEMS_DATA to a folder with one sub-folder per Mulan dataset.")
    files = sorted(folder.joinpath(name).glob("*.arff*"), reverse=True)
    files = [path for path in files if not re.search("-(train|test)", path.name)] or files
    parts = [re.split(r"(?im)^@data\s*$", _read(path), maxsplit=1) for path in files]
    attributes = [attribute.strip("'") for attribute, _ in ATTRIBUTE.findall(parts[0][0])]
    rows = [line.strip() for _, body in parts for line in body.splitlines() if line.strip()]
    is_sparse = rows[0].startswith("{")
    table = np.zeros((len(rows), len(attributes)))
    for values, row in zip(table, rows, strict=True):
        if is_sparse:
            for item in filter(None, row.strip("{}").split(",")):
                column, value = item.split()
                values[int(column)] = float(value)
        else:
            values[:] = [float(value) for value in row.split(",")]
    (xml,) = folder.joinpath(name).glob("*.xml")
    labels = {node.get("name") for node in ElementTree.parse(xml).iter() if node.tag.endswith("label")}
    is_label = np.array([attribute in labels for attribute in attributes])
    X, Y = table[:, ~is_label], table[:, is_label].astype(np.uint8)
    return sparse.csr_array(X) if is_sparse else X, Y


def _read(path: Path) -> str:
    return lzma.open(path, "rt").read() if path.suffix == ".xz" else path.read_text()
