"""What an attack on an earlier commit found, tried on that commit and on the working tree.

``python -m attack.before 1e78cbe --output attack/results/before.md`` installs the commit beside the working tree and
makes one small reproduction of each of 18 points on both, through what both have: the public names and the command. It
says what each does, and which tests hold it now; it fails unless the earlier commit shows every point and the working
tree none. Each reproduction runs in a process of its own, with limits on time and memory, and so does each command.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from attack.forging import (
    array_in,
    attributes,
    described,
    forged,
    listed,
    members_of,
    nodes_of,
    put,
    saved,
    text,
    with_arrays,
    with_matrices,
)
from tools.same_as import ROOT, install

SECONDS = 12  # of processor time that a command may take
PATIENCE = 600  # seconds that all commands of a point may take
MEMORY = 4 << 30  # bytes of address space that a process gets
FAR = 200_000_000  # features that there are not
TREE = "sklearn.tree._tree.Tree"
SPEC = """
title = "t"
datasets = ["rows"]
criteria = ["f1"]
repetitions = {repetitions}
trees = {trees}
depths = [2]
[data.rows]
path = "train.csv"
options = {{ labels = "tag_*" }}
[learners.br]
"""
WITHOUT_MEMORY = """
import runpy, sys
from clems import CLEMS
def fit(*_, **__):
    raise MemoryError("Unable to allocate 74.5 GiB")
CLEMS.fit = fit
"""

Seen = tuple[bool, str]


@dataclass(frozen=True)
class Point:
    """What was found, a reproduction, and the tests that hold it now, each as file::name."""

    what: str
    run: Callable[[], Seen]
    tests: tuple[str, ...]


POINTS: list[Point] = []


def point(what: str, *tests: str) -> Callable[[Callable[[], Seen]], Callable[[], Seen]]:
    """Enter a reproduction, with files and the tests of each that follow it."""

    def enter(run: Callable[[], Seen]) -> Callable[[], Seen]:
        names, file = [], ""
        for test in tests:
            file = test if test.endswith(".py") else file
            names += [f"{file}::{test}"] * (test != file)
        POINTS.append(Point(what, run, tuple(names)))
        return run

    return enter


class Ended(NamedTuple):
    """How a command ended."""

    code: int | None  # None if it did not end, nor work
    seconds: int  # that it was given
    out: bytes
    err: bytes

    @property
    def how(self) -> str:
        """The end in a few words."""
        if self.code is None:
            return "never ended"
        if self.code == -signal.SIGXCPU:
            return f"stopped after {self.seconds} s of processor time"
        if self.code < 0:
            return f"{signal.Signals(-self.code).name}, exit {128 - self.code}"
        if b"Traceback" in self.err:
            return f"traceback, {self.err.decode(errors='replace').strip().splitlines()[-1].split(':')[0][:60]}"
        return "a sentence" if self.code else "accepted"


def limited(seconds: int, memory: int, closed: int | None) -> None:
    """Set limits, and close a stream, between fork and exec."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if closed is not None:
        os.close(closed)


def clems(
    *arguments: Any,
    seconds: int = SECONDS,
    closed: int | None = None,
    known: bool = True,
    script: str = "",
    memory: int = MEMORY,
    **variables: str,
) -> Ended:
    """Run the command in the working directory, with options that it must know, or a script in its place."""
    command = [sys.executable, *(["-c", script] if script else ["-m", "clems", *map(str, arguments)])]
    prepare = partial(limited, seconds, memory, closed)
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = subprocess.Popen(
        command, preexec_fn=prepare, env={**os.environ, **variables}, start_new_session=True, **pipes
    )
    try:
        out, err = running.communicate(timeout=PATIENCE / 3)
        code = running.returncode
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        out, err = running.communicate()
        code = None
    if known and b"No such option" in err:
        sys.exit(err.decode())
    return Ended(code, seconds, out, err)


def counted(ends: list[str]) -> str:
    """Ends with how many there are of each."""
    return "; ".join(f"{n} of {len(ends)}: {end}" for end, n in Counter(ends).most_common())


# What both sides make for themselves: rows, and models that their own version saves.


def rows() -> tuple[Any, Any]:
    random = np.random.RandomState(0)
    X = random.rand(40, 5)
    return X, (X[:, :4] + 0.2 * random.rand(40, 4) > 0.6).astype(np.uint8)


def prepared() -> None:
    """Write rows with and without labels, and an honest model."""
    X, Y = rows()
    names = [*"abcde"], [f"tag_{k}" for k in range(4)]
    for file, table, columns in (("rows.csv", X, names[0]), ("train.csv", np.c_[X, Y], [*names[0], *names[1]])):
        lines = [",".join(columns), *(",".join(f"{value:g}" for value in row) for row in table)]
        Path(file).write_text("\n".join(lines) + "\n")
    clems("fit", "train.csv", "--labels", "tag_*", "--set", "n_trees=2", "-o", "model.clems")


def honest(estimator: Any) -> bytes:
    """File of a model with an estimator, None for CLEMS with its trees."""
    from clems import BR, CLEMS, save

    model = CLEMS(n_trees=2, random_state=0) if estimator is None else BR(estimator, random_state=0)
    save(model.fit(*rows()), "honest.clems")
    return Path("honest.clems").read_bytes()


def changed(data: bytes, change: Callable[[Any], None], more: dict[str, bytes] | None = None) -> bytes:
    """Change all objects of a file that have been fitted, and trees."""

    def schema(whole: Any) -> None:
        found = list(nodes_of(whole))
        for node in found:
            node.pop("__id__", None)
        for node in found:
            if node["__loader__"] == "TreeNode" or (
                node["__loader__"] == "ObjectNode" and "n_features_in_" in node["content"]["content"]
            ):
                change(node)

    return forged(data, schema=schema, more=more)


def wide(data: bytes) -> bytes:
    """Trees that claim another number of features than the model."""

    def far(array: Any) -> None:
        if "feature" in (array.dtype.names or ()):
            array["feature"][array["left_child"] != -1] = FAR - 1

    def claim(node: Any) -> None:
        if node["__loader__"] == "TreeNode":
            node["__reduce__"]["args"]["content"][0] = text(FAR)
        elif node["__class__"] in ("DecisionTreeClassifier", "ExtraTreeRegressor"):
            put(node, "n_features_in_", text(FAR))

    return changed(with_arrays(data, far), claim)


def masked(data: bytes) -> bytes:
    """Trees that lead astray behind a masked array, all but the first."""
    files: set[str] = set()

    def mask(node: Any) -> None:
        if node["__class__"] == "GradientBoostingClassifier":
            trees = attributes(node)["estimators_"]
            files.update(one["content"]["content"]["nodes"]["file"] for one in nodes_of(trees["content"][1:], TREE))
            content = {"data": trees, "mask": array_in("mask.npy")}
            put(node, "estimators_", described("MaskedArrayNode", "numpy.ma.MaskedArray", content=content))

    def lead_astray(name: str, content: bytes) -> bytes:
        if name not in files:
            return content
        array = np.load(io.BytesIO(content))
        array["left_child"][0] = 10**9
        return saved(array)

    data = changed(data, mask, {"mask.npy": saved(np.array([[False], [True]]))})
    return forged(data, arrays=lead_astray)


def decoyed(data: bytes) -> bytes:
    """Beside trees that lead astray, an attribute `tree_` that does not."""
    from sklearn.tree import DecisionTreeClassifier

    sound = members_of(honest(DecisionTreeClassifier()))
    schema = sound["schema.json"].decode()
    arrays = {name: content for name, content in sound.items() if name.endswith(".npy")}
    for name in arrays:
        schema = schema.replace(f'"{name}"', f'"decoy-{name}"')
    decoy = next(nodes_of(json.loads(schema), TREE))

    def lead_astray(array: Any) -> None:
        if "feature_idx" in (array.dtype.names or ()):
            array["left"][:] = 4 * 10**9

    def hide(node: Any) -> None:
        if node["__class__"] == "HistGradientBoostingClassifier":
            put(node, "tree_", decoy)

    more = {f"decoy-{name}": content for name, content in arrays.items()}
    return changed(with_arrays(data, lead_astray), hide, more)


def blocks(matrix: Any) -> Any:
    """A matrix stored otherwise than said, whose columns are far outside."""
    matrix = matrix.asformat("bsr")
    matrix.indices[:] = 2**30
    return matrix


def machines(data: bytes) -> Iterator[bytes]:
    """Support vectors whose numbers are negative, or that are more than coefficients."""

    def negative(array: Any) -> Any:
        said = array.dtype == np.int32 and array.shape == (2,)
        return np.int32([-(10**6), 10**6 + array.sum()]) if said else None

    def cut(node: Any) -> None:
        if node["__class__"] == "SVC":
            put(node, "_dual_coef_", array_in("bad.npy"))

    yield with_arrays(data, negative)
    yield changed(data, cut, {"bad.npy": saved(np.array([[1.0]]))})


def crafted() -> Iterator[bytes]:
    """Files of the kinds that ended in a segmentation fault."""
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.svm import SVC

    yield wide(honest(RandomForestClassifier(2, max_depth=2)))
    yield wide(honest(None))
    yield masked(honest(GradientBoostingClassifier(n_estimators=2)))
    yield decoyed(honest(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5)))
    yield with_matrices(honest(None), blocks)
    yield from machines(honest(SVC()))


def endless() -> Iterator[bytes]:
    """Small files that hung or filled the memory."""
    from sklearn.tree import DecisionTreeClassifier

    data, reduced = honest(DecisionTreeClassifier(max_depth=2)), "ConstructorFromReduceNode"

    def instead(value: Any) -> bytes:
        return forged(data, schema=lambda schema: attributes(schema).update(estimator=value), more={"zeros.npy": zeros})

    zeros = saved(np.zeros(25_000_000))
    inner = listed(list, **{"__id__": 1})
    for number in range(2, 60):
        again = described("ListNode", "builtins.list", content=[], **{"__id__": number - 1})
        inner = listed(list, inner, again, **{"__id__": number})
    yield instead(inner)
    numbers = described(reduced, "builtins.range", content=listed(tuple, text(0), text(10**12), text(1)))
    yield instead(described(reduced, "builtins.frozenset", content=listed(tuple, numbers)))
    yield instead(listed(list, *({**array_in("zeros.npy"), "__id__": 10**6 + k} for k in range(25))))
    yield forged(data, arrays=lambda name, content: "[" * 4 * 10**7 if name == "clems.json" else content)


# The points, in order: each says whether it holds here, and what was seen.

MODELS, COMMAND = "test_hostile_models.py", "test_cli_process.py"


@point(
    "code in the working directory runs without `--trust`",
    COMMAND,
    "test_of_the_working_directory_only_a_trusted_module_and_what_it_imports_is_run",
)
def working_directory() -> Seen:
    prepared()
    ran = []
    for name in ("quantile_forest", "skops"):
        planted, trace = Path(f"{name}.py"), Path(f"ran-{name}")
        planted.write_text(f"open({str(trace)!r}, 'w').close()\n")
        clems("predict", "model.clems", "rows.csv", "-o", f"{name}.csv")
        planted.unlink()
        ran += [f"{name}.py"] * trace.exists()
    return not ran, f"{' and '.join(ran)} ran" if ran else "no planted file ran"


def refused_files(files: Iterator[bytes]) -> Seen:
    prepared()
    ends = []
    for data in files:
        Path("bad.clems").write_bytes(data)
        ends.append(clems("predict", "bad.clems", "rows.csv", "-o", f"{len(ends)}.csv").how)
    return {*ends} == {"a sentence"}, counted(ends)


@point(
    "crafted model files crash the process",
    MODELS,
    "test_trees_of_other_features",
    "test_trees_behind_a_masked_array",
    "test_a_sound_tree_hides_nothing",
    "test_matrices_of_another_format",
    "test_support_vectors_that_are_not_there",
    "test_neighbours_that_are_not_there",
    "test_search_trees_are_not_believed",
)
def crafted_files() -> Seen:
    return refused_files(crafted())


@point(
    "small model files hang or fill the memory",
    MODELS,
    "test_lists_that_hold_one_another",
    "test_ranges_without_end",
    "test_an_array_that_is_taken_often",
    "test_descriptions_without_end",
)
def endless_files() -> Seen:
    return refused_files(endless())


@point(
    "the report allows inline scripts; a CSV of predictions, formulas",
    "test_html_report.py",
    "test_only_its_own_scripts_and_styles_are_allowed",
    "test_cli_process.py",
    "test_formulas_for_spreadsheets_are_text_on_request",
)
def page_and_sheet() -> Seen:
    prepared()
    clems("report", "model.clems", "train.csv", "-o", "r.html")
    folder = Path(importlib.util.find_spec("clems").submodule_search_locations[0])  # 0.1 needs plotly for a report
    page = (Path("r.html") if Path("r.html").exists() else folder / "report/report.html.j2").read_text()
    policy = page.partition("Content-Security-Policy")[2].partition("content=")[2][:1000].split(">")[0]
    lacks = [rule for rule in ("form-action", "base-uri") if rule not in policy]
    inline = "'unsafe-inline'" in policy.partition("script-src")[2].split(";")[0]
    safe = clems("predict", "model.clems", "rows.csv", "-o", "p.csv", "--spreadsheet-safe", known=False).code == 0
    said = [*["inline scripts allowed"] * inline, *(f"no {rule}" for rule in lacks)]
    said += ["no --spreadsheet-safe"] * (not safe)
    return not said, ", ".join(said) or "scripts by checksum, form-action, base-uri, --spreadsheet-safe"


@point(
    "`CLEMS.predict` on a sparse matrix with entries in parts",
    "test_learners.py",
    "test_a_sparse_matrix_means_the_same_however_it_is_stored",
)
def sparse_rows() -> Seen:
    from clems import CLEMS

    random = np.random.RandomState(0)
    X = random.randint(0, 4, (300, 6)).astype(float)
    Y = (X[:, :3] + random.rand(300, 3) > 2.5).astype(int)
    model, new = CLEMS(n_trees=10, random_state=0).fit(X[:100], Y[:100]), X[100:]
    row, column = np.indices(new.shape).reshape(2, -1)
    half = np.r_[new.ravel() - 1, np.ones(new.size)]
    order = np.argsort(np.r_[row, row], kind="stable")
    ends = np.arange(len(new) + 1) * 2 * new.shape[1]
    parts = sparse.csr_array((half[order], np.r_[column, column][order], ends), shape=new.shape)
    wrong = int((np.asarray(model.predict(parts)) != model.predict(new)).any(axis=1).sum())
    return not wrong, f"{wrong} of {len(new)} rows wrong"


@point(
    "blanks before a plus",
    "test_tables.py",
    "test_numbers_with_signs_and_blanks_are_what_float_reads",
    "test_decimals.py",
    "test_blanks_around_signs_change_nothing",
)
def signed_numbers() -> Seen:
    from clems.datasets import read_arff, read_table

    random = np.random.RandomState(0)
    cells = [f" +{value!r}" for value in (random.rand(2000) * 10.0 ** random.randint(-20, 24, 2000)).tolist()]
    body = "".join(f"{cell} ,1\n" for cell in cells)
    head = "@relation r\n@attribute x real\n@attribute y {0,1}\n@data\n"
    table = read_table(io.BytesIO(f"x,y\n{body}".encode()), "y")
    arff = read_arff(io.BytesIO((head + body).encode()), ["y"])
    wanted = [float(cell) for cell in cells]
    found = [int((np.ravel(data.X) != wanted).sum()) for data in (table, arff)]
    return not any(found), f"{found[0]} of {len(cells)} values wrong in CSV, {found[1]} in ARFF"


@point(
    "a line of one space in libsvm; a lone -0 in CSV",
    "test_libsvm.py",
    "test_a_line_of_one_space_is_a_row_of_nothing",
    "test_tables.py",
    "test_the_sign_of_zero_is_kept",
)
def lost_rows_and_signs() -> Seen:
    from clems.datasets import read_libsvm, read_table

    found = read_libsvm(io.BytesIO(b"1 0:1\n \n2 0:3\n")).X.shape[0]
    sign = np.signbit(np.ravel(read_table(io.BytesIO(b"x,y\n-0,1\n"), "y").X)[0])
    kept = "kept" if sign else "lost"
    return found == 3 and bool(sign), f"{found} of 3 rows; the sign of a lone -0 {kept}"


@point("signals while writing", COMMAND, "test_a_signal_cleans_up_and_is_seen")
def leftovers() -> Seen:
    prepared()
    left = []
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        folder = Path(name)
        folder.mkdir()
        command = [sys.executable, "-m", "clems", "predict", "model.clems", "-", "-o", str(folder / "p.csv")]
        running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not list(folder.iterdir()) and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(getattr(signal, name))
        running.wait(PATIENCE / 3)
        left += [name] * bool(list(folder.iterdir()))
    return not left, f"a file left behind by {' and '.join(left)}" if left else "nothing left behind"


@point(
    "an output that is an input",
    COMMAND,
    "test_an_output_that_is_an_input_is_refused",
    "test_a_model_a_spec_and_prices_are_inputs_too",
)
def output_is_input() -> Seen:
    prepared()
    before = [Path(file).read_bytes() for file in ("rows.csv", "model.clems")]
    ends = [clems("predict", "model.clems", "rows.csv", "-o", "rows.csv").how]
    ends.append(clems("report", "model.clems", "train.csv", "-o", "model.clems").how)
    same = before == [Path(file).read_bytes() for file in ("rows.csv", "model.clems")]
    return same and {*ends} == {"a sentence"}, counted(ends) + ("" if same else "; inputs replaced")


@point("FaIE on features of 10^154", "test_by_linear_code.py", "test_codes_for_features_of_any_size")
def huge_features() -> Seen:
    from clems import FaIE

    X, Y = rows()
    try:
        FaIE(n_trees=2, random_state=0).fit(X * 1e154, Y)
    except ValueError as error:
        return True, f"a sentence: {error}"
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"
    return True, "accepted"


@point(
    "closed standard streams",
    COMMAND,
    "test_closed_streams_do_not_keep_a_file_from_being_written",
    "test_a_closed_stream_that_is_needed_is_reported",
)
def closed_streams() -> Seen:
    prepared()
    said = []
    for number, name in enumerate(("input", "output", "error")):
        out = Path(f"closed-{name}.csv")
        ended = clems("predict", "model.clems", "rows.csv", "-o", out, closed=number)
        if ended.code or b"Traceback" in ended.err or not out.exists():
            said.append(f"{name}: {ended.how}{'' if out.exists() else ', no file'}")
    return not said, "; ".join(said) or "the file is written with each of them closed"


@point(
    "whole numbers from 2^63 on beside a missing value",
    "test_tables.py",
    "test_great_whole_numbers_beside_missing_ones",
)
def great_numbers() -> Seen:
    from clems.datasets import read_table

    try:
        found = read_table(io.BytesIO(f"x,y\n{2**63},1\nNA,0\n-1,0\n".encode()), "y").X
    except ValueError as error:
        return False, f"refused: {str(error)[-90:]}"
    return np.array_equal(found.ravel(), [2.0**63, np.nan, -1], equal_nan=True), "read as numbers and a gap"


@point(
    "a CSV of a million columns",
    "test_tables.py",
    "test_wide_tables_are_not_left_to_pandas",
    "test_wide_tables_take_memory_as_long_ones_do",
)
def wide_table() -> Seen:
    n = 10**6
    Path("wide.csv").write_text(",".join([*(f"x{k}" for k in range(n)), "y"]) + "\n" + 2 * ("1.5," * n + "1\n"))
    ended = clems("inspect", "wide.csv", "--labels", "y", seconds=40)
    return ended.how == "accepted", ended.how


@point(
    "devices and endless pipes as input",
    "test_source.py",
    "test_what_has_no_end_is_not_read_for_ever",
    "test_devices_are_not_read_for_ever",
)
def endless_input() -> Seen:
    Path("endless.csv").symlink_to("/dev/zero")
    os.mkfifo("pipe.csv")
    feeding = subprocess.Popen(["sh", "-c", "yes 1,1,1,1 > pipe.csv"], stderr=subprocess.DEVNULL)
    read = "from clems.datasets import *\ntry:\n    read_table('pipe.csv', '1', limits=Limits(total=1 << 22))\n"
    try:
        pipe = clems(script=f"{read}except DataError as error:\n    raise SystemExit(str(error))").how
    finally:
        feeding.kill()
    device = clems("inspect", "endless.csv", "--labels", "1").how
    return {device, pipe} == {"a sentence"}, f"/dev/zero: {device}; an endless pipe: {pipe}"


@point("a deeply nested line in a store", "test_store.py", "test_a_broken_line_in_the_middle_is_said_with_its_number")
def deep_record() -> Seen:
    prepared()
    Path("spec.toml").write_text(SPEC.format(repetitions=2, trees=2))
    Path("results/spec").mkdir(parents=True)
    Path("results/spec/records.jsonl").write_text("[" * 100_000 + "\n{}\n")
    ended = clems("experiment", "report", "spec.toml", "--output", "report.md")
    return ended.how == "a sentence", ended.how


@point("`PYTHONIOENCODING=ascii clems evaluate`", COMMAND, "test_tables_in_any_encoding_and_data_in_one")
def ascii_output() -> Seen:
    prepared()
    ended = clems("evaluate", "model.clems", "train.csv", PYTHONIOENCODING="ascii")
    return ended.code == 0, ended.how if ended.code == 0 else f"{ended.how}: {ended.err.decode()[-90:].strip()}"


@point("Ctrl-C with `--backend dask`", COMMAND, "test_a_run_ends_with_all_its_workers")
def interrupted_dask() -> Seen:
    prepared()
    Path("spec.toml").write_text(SPEC.format(repetitions=500, trees=200))
    command = [sys.executable, "-m", "clems", "experiment", "run", "spec.toml", "--backend", "dask", "--jobs", "2"]
    with Path("said").open("w") as said:
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True)
        records = Path("results/spec/records.jsonl")
        while running.poll() is None and not (records.exists() and records.stat().st_size):
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        try:
            running.wait(PATIENCE / 3)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return False, "did not end"
    lines = Path("said").read_text().strip().splitlines()
    return len(lines) == 1, f"{len(lines)} lines, {sum('Traceback' in line for line in lines)} tracebacks"


@point("too little memory", COMMAND, "test_too_little_memory_is_a_sentence")
def too_little_memory() -> Seen:
    prepared()
    arguments = ["clems", "fit", "train.csv", "--labels", "tag_*", "-o", "m.clems"]
    ended = clems(script=f"{WITHOUT_MEMORY}\nsys.argv = {arguments}\nrunpy.run_module('clems', run_name='__main__')")
    return ended.how == "a sentence", ended.how


def seen(number: int, source: Path) -> Seen:
    """Run a reproduction in a process of its own, in an empty folder, on the package in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        own = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--point", str(number)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running = subprocess.Popen(command, cwd=folder, env=own, start_new_session=True, **pipes)
        try:
            out, err = running.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            return False, f"stopped after {PATIENCE} s"
    if running.returncode < 0:
        return False, f"{signal.Signals(-running.returncode).name}, exit {128 - running.returncode}"
    if running.returncode:
        sys.exit(f"Point {number} cannot be tried: {err.decode()}")
    held, said = json.loads(out.splitlines()[-1])
    return held, said


def missing_tests() -> list[str]:
    """Tests that are named here and are not there."""
    named = [test.split("::") for point in POINTS for test in point.tests]
    return ["::".join(one) for one in named if f"def {one[1]}(" not in (ROOT / "tests" / one[0]).read_text()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", nargs="?", help="the earlier commit")
    parser.add_argument("--points", type=int, nargs="*", default=range(1, len(POINTS) + 1))
    parser.add_argument("--point", type=int, help=argparse.SUPPRESS)  # what a process of its own does
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which is ignored in what is started in the background
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and this one under nohup
    if options.point:
        print(json.dumps(POINTS[options.point - 1].run()))
        return
    if missing := missing_tests():
        sys.exit(f"There is no test {', '.join(missing)}.")
    lines, wrong = [], []
    with tempfile.TemporaryDirectory() as folder:
        earlier = install(options.revision, Path(folder))
        for number in options.points:
            point = POINTS[number - 1]
            (held, then), (holds, now) = (seen(number, source) for source in (earlier, ROOT / "src"))
            wrong += [f"{number} then"] * held + [f"{number} now"] * (not holds)
            tests = " ".join(f"`{test}`" for test in point.tests)
            lines.append(f"| {number} | {point.what} | {then} | {now} | {tests} |".replace("\n", " "))
            print(lines[-1], flush=True)
    head = [
        "# Before and now",
        "",
        f"`python -m attack.before {options.revision}`: one reproduction of each point on that commit and on the "
        f"working tree, in processes with {MEMORY >> 30} GiB and {SECONDS} s of processor time for a command unless "
        "more is said. Tests are in `tests/`.",
        "",
        f"| | point | {options.revision} | now | tests |",
        "|---:|---|---|---|---|",
    ]
    if options.output and len(lines) == len(POINTS):
        options.output.write_text("\n".join([*head, *lines]) + "\n")
    if wrong:
        sys.exit(f"Otherwise than expected: {', '.join(wrong)}.")


if __name__ == "__main__":
    main()
