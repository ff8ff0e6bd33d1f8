"""Signals and faults of the disk at every write: `python -m attack.signals --output attack/results/signals.md`.

Each command runs in a forked process in which the k-th call that changes files (open, write, fsync, truncate, replace)
is hit: by a signal right before or right after it, or by an error in its place. Afterwards the output must be the old
file or the complete new one, with nothing beside it, and a store must hold all that was finished and go on from there.
"""

import argparse
import builtins
import errno
import io
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

OLD = "what was there before\n"
SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "SIGPIPE"]
FAULTS = ["ENOSPC", "EIO", "EINTR"]
SPEC = """
title = "t"
datasets = ["rows"]
criteria = ["f1"]
repetitions = 3
trees = 2
depths = [2]
[data.rows]
path = "train.csv"
options = { labels = "tag_*" }
[learners.br]
"""
COMMANDS = {  # {0} is the folder of inputs, {1} that of the output
    "fit": (
        ["fit", "{0}/train.csv", "--labels", "tag_*", "--set", "n_trees=2", "-o", "{1}/model.clems"],
        "model.clems",
    ),
    "predict": (["predict", "{0}/model.clems", "{0}/train.csv", "-o", "{1}/out.csv.gz"], "out.csv.gz"),
    "report": (
        ["report", "{0}/model.clems", "{0}/train.csv", "--mistakes", "1", "-o", "{1}/report.html"],
        "report.html",
    ),
    "experiment run": (
        ["experiment", "run", "{0}/spec.toml", "--backend", "serial", "--store", "{1}"],
        "records.jsonl",
    ),
}


class Hook:
    """Counts calls that change files below a folder, and strikes at one of them."""

    def __init__(self, folder, at=None, when="before", strike=None):
        self.folder, self.at, self.when, self.strike = str(folder), at, when, strike
        self.calls, self.watched = [], set()

    def call(self, name, function, *arguments, **options):
        place = len(self.calls)
        self.calls.append(name)
        if place == self.at and self.when == "before":
            self.strike()
        result = function(*arguments, **options)
        if place == self.at and self.when == "after":
            self.strike()
        return result

    def is_below(self, path):
        return not isinstance(path, int) and os.fspath(path).startswith(self.folder + os.sep)

    def install(self):
        hook, plain_open, os_open, close = self, io.open, os.open, os.close

        class Raw(io.FileIO):
            def write(self, data):
                return hook.call("write", super().write, data)

        def opened(file, mode="r", buffering=-1, *arguments, **options):
            mine = file in hook.watched if isinstance(file, int) else hook.is_below(file)
            if not mine or not set(mode) & set("wax+"):
                return plain_open(file, mode, buffering, *arguments, **options)
            assert "b" in mode, "files are written as bytes"
            hook.watched.discard(file)
            raw = Raw(file, mode.replace("b", "")) if isinstance(file, int) else hook.call("open", Raw, file, mode)
            return io.BufferedWriter(raw)

        def open_number(path, flags, *arguments, **options):
            if not hook.is_below(path) or not flags & (os.O_WRONLY | os.O_RDWR):
                return os_open(path, flags, *arguments, **options)
            number = hook.call("open", os_open, path, flags, *arguments, **options)
            hook.watched.add(number)
            return number

        def closed(number):
            hook.watched.discard(number)
            close(number)

        def on_number(name):
            function = getattr(os, name)
            return lambda number, *rest: (
                hook.call(name, function, number, *rest) if number in hook.watched else function(number, *rest)
            )

        def on_path(name):
            function = getattr(os, name)
            return lambda path, *rest: (
                hook.call(name, function, path, *rest) if hook.is_below(path) else function(path, *rest)
            )

        fsync = os.fsync
        os.fsync = lambda number: hook.call("fsync", fsync, number)
        os.write, os.ftruncate = on_number("write"), on_number("ftruncate")
        os.replace = on_path("replace")
        io.open = builtins.open = opened
        os.open, os.close = open_number, closed


def run(arguments, folder, hook=None):
    """Run the command in a process of its own; return how it ended, what it said and which calls it made."""
    said, calls = folder.with_suffix(".err"), folder.with_suffix(".calls")
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 70
        try:
            number = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(number, 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
            signal.alarm(120)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
            if hook:
                hook.install()
            from clems.__main__ import main
            from clems.cli import process

            sys.argv = ["clems", *arguments]
            try:
                main()
            except SystemExit as end:
                code = end.code or 0
            calls.write_text(json.dumps(hook.calls if hook else []))
            process.end_as_signalled()
        except BaseException:
            import traceback

            traceback.print_exc()
            code = 70
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    made = json.loads(calls.read_text()) if calls.exists() else []
    calls.unlink(missing_ok=True)
    return os.waitstatus_to_exitcode(status), said.read_text(), made


def strike_of(kind):
    if kind in SIGNALS:
        return lambda: os.kill(os.getpid(), getattr(signal, kind))

    def fail():
        raise OSError(getattr(errno, kind), os.strerror(getattr(errno, kind)))

    return fail


def make_inputs(folder):
    """Write what the commands read."""
    lines = ["a,b,tag_x,tag_y"]
    lines += [f"{row % 7},{row * 5 % 11},{int(row % 7 > 3)},{int(row * 5 % 11 > 4)}" for row in range(40)]
    folder.joinpath("train.csv").write_text("\n".join(lines) + "\n")
    folder.joinpath("spec.toml").write_text(SPEC)
    code, said, _ = run([part.format(folder, folder) for part in COMMANDS["fit"][0]], folder)
    assert code == 0, said


def preload():
    """Import what commands need, so that forked processes have it; nothing is computed, as threads do not survive."""
    import skops.io  # noqa: F401

    from clems.evaluation.report import _jinja

    _jinja()


def is_complete(command, path, reference):
    """Whether a file is what the command writes when nothing happens to it."""
    if command == "fit":
        from clems.persistence import describe

        try:
            return describe(path).learner == "CLEMS"
        except ValueError:
            return False
    if command == "predict":
        import gzip

        try:
            return gzip.decompress(path.read_bytes()) == gzip.decompress(reference)
        except (OSError, EOFError):
            return False
    return path.read_text().rstrip().endswith("</html>")


def check_file(command, folder, target, reference):
    """Say what is at the output and what is beside it."""
    path = folder / target
    beside = [one.name for one in folder.iterdir() if one.name != target]
    if path.read_bytes() == OLD.encode():
        return "old", beside
    return ("new" if is_complete(command, path, reference) else "BROKEN"), beside


def check_store(arguments, folder, finished, total):
    """Say whether all that was finished is kept, and whether the same command goes on from there."""
    from clems.experiments.store import Store

    beside = [one.name for one in folder.iterdir() if one.name not in ("records.jsonl", "records.lock")]
    kept = len(Store(folder).records())
    if kept < finished:
        return "BROKEN", beside
    code, _, _ = run(arguments, folder)
    if code or len(Store(folder).records()) != total:
        return "BROKEN", beside
    return ("new" if kept == total else "old"), beside


def fault_of(kind, code, said, outcome, beside):
    """Say what is wrong after an attack, if anything is."""
    if outcome == "BROKEN":
        return "the output is broken"
    if beside and kind != "SIGKILL":
        return f"left behind: {', '.join(beside)}"
    wanted = {"SIGINT": 130, "SIGPIPE": 0}
    expected = wanted.get(kind, -getattr(signal, kind) if kind in SIGNALS else 1)
    if kind == "EINTR" and (code, outcome) == (0, "new"):
        return None  # Python tries such a call again by itself
    if code != expected:
        return f"exit code {code} instead of {expected}: {said[-200:]}"
    lines = said.splitlines()
    if kind not in ("SIGKILL", "SIGPIPE") and (len(lines) != 1 or "Traceback" in said):
        return f"not one sentence: {said[-200:]}"
    return None


def attack(commands=tuple(COMMANDS), kinds=(*SIGNALS, *FAULTS), most=None):
    """Hit each command at each of its calls.

    Returns
    -------
    tuple of list of rows, list of faults, and dict of calls
    """
    preload()
    rows, faults, made = [], [], {}
    with tempfile.TemporaryDirectory() as root:
        inputs = Path(root, "inputs")
        inputs.mkdir()
        make_inputs(inputs)
        for command in commands:
            words, target = COMMANDS[command]
            is_store = command == "experiment run"

            def fresh(name, is_store=is_store, target=target):
                folder = Path(root, name)
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                if not is_store:
                    folder.joinpath(target).write_text(OLD)
                return folder

            folder = fresh("whole")
            arguments = [word.format(inputs, folder) for word in words]
            code, said, calls = run(arguments, folder, Hook(folder))
            assert code == 0, said
            assert calls, f"no call of {command} was seen"
            reference = folder.joinpath(target).read_bytes()
            total = reference.count(b"\n") if is_store else 0
            made[command] = Counter(calls)
            places = range(len(calls)) if most is None else range(len(calls))[-most:]
            for kind in kinds:
                found = Counter()
                for at in places:
                    for when in ("before", "after") if kind in SIGNALS else ("before",):
                        folder = fresh("struck")
                        arguments = [word.format(inputs, folder) for word in words]
                        code, said, _ = run(arguments, folder, Hook(folder, at, when, strike_of(kind)))
                        if is_store:
                            finished = calls[:at].count("write") + (when == "after" and calls[at] == "write")
                            outcome, beside = check_store(arguments, folder, finished, total)
                        else:
                            outcome, beside = check_file(command, folder, target, reference)
                        found["runs"] += 1
                        found[outcome] += 1
                        found["left"] += bool(beside)
                        if fault := fault_of(kind, code, said, outcome, beside):
                            found["faults"] += 1
                            faults.append(f"{command}, {kind} {when} call {at} ({calls[at]}): {fault}")
                rows.append((command, kind, found))
    return rows, faults, made


def written(rows, faults, made, seconds):
    """Write down what was found."""
    lines = [
        "# Signals and faults at every write",
        "",
        "Made by `python -m attack.signals --output attack/results/signals.md`: each call of a command that changes "
        "files is hit by a signal right before and right after it, or fails with an error. *Old*, *new*: the output is "
        "the file of before, or the complete new one; of a store, some or all records are there, none that was ended "
        "is missing, and the same command then goes on to the end. *Left*: runs that left a file beside the output, "
        "`.NAME.` and 32 hexadecimal digits, which only SIGKILL may.",
        "",
    ]
    for command, calls in made.items():
        listed = ", ".join(f"{count} × {name}" for name, count in calls.items())
        lines.append(f"- `clems {command}`: {listed}")
    lines += [
        "",
        "| command | hit by | runs | old | new | broken | left | faults |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for command, kind, found in rows:
        counts = " | ".join(str(found[key]) for key in ("runs", "old", "new", "BROKEN", "left", "faults"))
        lines.append(f"| {command} | {kind} | {counts} |")
    runs = sum(found["runs"] for _, _, found in rows)
    lines += ["", f"{runs:,} runs in {seconds / 60:.0f} minutes; {len(faults)} faults."]
    lines += [f"- {fault}" for fault in faults]
    return "\n".join(lines) + "\n"


def main():
    """Attack, and write down what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), choices=list(COMMANDS))
    parser.add_argument("--kinds", nargs="*", default=[*SIGNALS, *FAULTS], choices=[*SIGNALS, *FAULTS])
    given = parser.parse_args()
    start = time.monotonic()
    rows, faults, made = attack(given.commands, given.kinds)
    text = written(rows, faults, made, time.monotonic() - start)
    if given.output:
        given.output.write_text(text)
    print(text)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
