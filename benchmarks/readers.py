"""Reading ARFF files, against liac-arff in the same run.

``python -m benchmarks.readers --output benchmarks/results/readers.md``; needs CLEMS_DATA.
"""

import argparse
import tempfile
import tracemalloc
from pathlib import Path
from time import perf_counter

import arff
import numpy as np
from scipy import sparse

from clems.datasets import read_arff
from clems.datasets.catalogue import _files, _homes
from clems.datasets.formats.mulan import labels_of_xml, xml_beside
from clems.datasets.text.source import Source

TEXT = """\
# Reading ARFF

Made by `make bench-data`: seconds from plain text, the least of {runs} runs taken in turns. liac-arff gives lists, here
in the form that it is fastest in; *to matrices* adds making matrices of features and labels of them, which clems gives
at once. Both give equal matrices.

| data | form | size | liac-arff | to matrices | clems | ratio of loading alone | ratio to matrices | clems from xz |
|---|---|---|---|---|---|---|---|---|"""
DATA = {"enron": ["all"], "arts": ["all"], "scene": ["train", "test"]}
RUNS = 15


def files(name: str) -> list[Path]:
    """Files of a dataset that lies on this computer."""
    for home in _homes(None):
        if found := _files(home / name):
            return [found[part] for part in DATA[name]]
    raise SystemExit(f"No dataset {name!r}: set CLEMS_DATA to a folder with one sub-folder per Mulan dataset.")


def load_with_liac(path: Path, is_sparse: bool) -> dict:
    with path.open() as file:
        return arff.load(file, return_type=arff.LOD if is_sparse else arff.DENSE)


def matrices_of(loaded: dict, labels: set[str], is_sparse: bool) -> tuple[object, object]:
    """What a user of liac-arff has to write."""
    names = [name for name, _ in loaded["attributes"]]
    is_label = np.array([name in labels for name in names])
    if not is_sparse:
        table = np.array(loaded["data"], dtype=float)
        return table[:, ~is_label], table[:, is_label].astype(np.uint8)
    rows = loaded["data"]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    indices = np.fromiter((index for row in rows for index in row), np.int32, indptr[-1])
    values = np.fromiter((float(value) for row in rows for value in row.values()), float, indptr[-1])
    table = sparse.csr_array((values, indices, indptr), shape=(len(rows), len(names))).tocsc()
    return table[:, ~is_label].tocsr(), table[:, is_label].tocsr().astype(np.uint8)


def compare(name: str, folder: Path) -> list[str]:
    """Read a dataset in turns, from plain and from compressed text; the least time of each counts."""
    packed = files(name)
    plain = [folder / path.name.removesuffix(".xz") for path in packed]
    for source, target in zip(packed, plain, strict=True):
        with Source(source) as file:
            target.write_bytes(file.read())
    xml = xml_beside(packed[0])
    labels = {*labels_of_xml(xml)}
    is_sparse = sparse.issparse(read_arff(plain[0], xml).X)
    times = {key: [] for key in ("theirs", "theirs to matrices", "ours", "ours from xz")}
    for _ in range(RUNS):
        start = perf_counter()
        loaded = [load_with_liac(path, is_sparse) for path in plain]
        times["theirs"].append(perf_counter() - start)
        theirs = [matrices_of(part, labels, is_sparse) for part in loaded]
        times["theirs to matrices"].append(perf_counter() - start)
        del loaded
        start = perf_counter()
        ours = [read_arff(path, xml) for path in plain]
        times["ours"].append(perf_counter() - start)
        start = perf_counter()
        for path in packed:
            read_arff(path, xml)
        times["ours from xz"].append(perf_counter() - start)
        for one, (X, Y) in zip(ours, theirs, strict=True):
            for mine, other in ((one.X, X), (one.Y, Y)):
                assert (abs(mine - other).max() if is_sparse else np.abs(mine - other).max()) == 0
    best = {key: min(values) for key, values in times.items()}
    size = sum(path.stat().st_size for path in plain) / 1e6
    return [
        name,
        "sparse" if is_sparse else "dense",
        f"{size:.1f} MB",
        f"{best['theirs']:.3f} s",
        f"{best['theirs to matrices']:.3f} s",
        f"{best['ours']:.4f} s",
        f"{best['theirs'] / best['ours']:.1f}×",
        f"**{best['theirs to matrices'] / best['ours']:.1f}×**",
        f"{best['ours from xz']:.4f} s",
    ]


def memory() -> str:
    """Peak of memory while arts is read, as a multiple of the result."""
    (path,) = files("arts")
    tracemalloc.start()
    data = read_arff(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = sum(part.nbytes for side in (data.X, data.Y) for part in (side.data, side.indices, side.indptr))
    return (
        f"Peak memory while arts is read from its compressed file: {peak / size:.2f} times the CSR arrays of the "
        f"result ({peak / 1e6:.0f} and {size / 1e6:.0f} MB), names and text included."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [TEXT.format(runs=RUNS)]
    with tempfile.TemporaryDirectory() as folder:
        for name in DATA:
            lines.append("| " + " | ".join(compare(name, Path(folder))) + " |")
            print(lines[-1], flush=True)
    lines += ["", memory(), ""]
    text = "\n".join(lines)
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
