"""Coverage-guided fuzzing for hours: one of the two targets, in pieces of some minutes, and what came out.

``python -m attack.coverage readers --seconds 7200 --output attack/results/coverage-readers.md``

Each piece is a process of its own with a seed of its own, because memory grows with the number of inputs where code is
instrumented, by up to 36 kB an input; without that, 24,000 mutated files took no more after the first 8,000. A piece
that ends by the limit of memory is counted, and is no fault; any other end is one, and its input is kept. The corpus
goes on growing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from math import ceil
from pathlib import Path
from time import monotonic
from typing import NamedTuple

TARGETS = {"readers": "attack.coverage_readers", "models": "attack.coverage_models"}
STATISTIC = re.compile(r"^stat::(\w+):\s+(\d+)", re.MULTILINE)
REACHED = re.compile(r"^#\d+\s+\w+\s+cov: (\d+) ft: (\d+) corp: (\d+)", re.MULTILINE)
LIMIT = "libFuzzer: out-of-memory"


class Piece(NamedTuple):
    """How a piece ended, "ended", "memory of the fuzzer" or "fault"; its inputs, edges, and files of the corpus."""

    end: str
    inputs: int
    edges: int
    files: int


def run_piece(target: str, seconds: int, seed: int, corpus: Path) -> Piece:
    """Fuzz for some seconds in a process of its own."""
    options = ["--seconds", str(seconds), "--seed", str(seed), "--corpus", str(corpus)]
    done = subprocess.run([sys.executable, "-m", TARGETS[target], *options], capture_output=True, check=False)
    text = (done.stdout + done.stderr).decode(errors="replace")
    piece = piece_of(text, done.returncode)
    if piece.end == "fault":
        print(text[-4000:], flush=True)
    return piece


def piece_of(text: str, code: int) -> Piece:
    """Read what libFuzzer wrote."""
    inputs = dict(STATISTIC.findall(text)).get("number_of_executed_units", "0")
    edges, _, files = (REACHED.findall(text) or [("0", "0", "0")])[-1]
    end = "ended" if code == 0 else "memory of the fuzzer" if LIMIT in text else "fault"
    return Piece(end, int(inputs), int(edges), int(files))


def report(target: str, command: str, pieces: list[Piece], minutes: float) -> str:
    """Write the counts."""
    ends = Counter(piece.end for piece in pieces)
    last = pieces[-1]
    return (
        f"# Coverage-guided fuzzing of {target}\n\n`{command}`: {len(pieces)} pieces in {minutes:.0f} minutes, "
        f"{sum(piece.inputs for piece in pieces):,} inputs.\n\n"
        "| ended | by the memory of the fuzzer | by a fault | edges reached | files of the corpus |\n"
        "|---:|---:|---:|---:|---:|\n"
        f"| {ends['ended']} | {ends['memory of the fuzzer']} | {ends['fault']} | {last.edges:,} | {last.files:,} |\n"
    )


def main() -> None:
    """Read the command line, and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=7200)
    parser.add_argument("--piece", type=int, default=120, help="most seconds of one process")
    parser.add_argument("--seed", type=int, default=1, help="of the first piece")
    parser.add_argument("--corpus", type=Path, help="by default build/attack/corpus-TARGET")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    corpus = options.corpus or Path("build/attack") / f"corpus-{options.target}"
    command = f"python -m attack.coverage {options.target} --seconds {options.seconds} --seed {options.seed}"
    pieces: list[Piece] = []
    start = monotonic()
    while (passed := monotonic() - start) < options.seconds:
        seconds = min(options.piece, ceil(options.seconds - passed))
        pieces.append(run_piece(options.target, seconds, options.seed + len(pieces), corpus))
        print(pieces[-1], flush=True)
        if options.output:
            options.output.write_text(report(options.target, command, pieces, (monotonic() - start) / 60))
    sys.exit(any(piece.end == "fault" for piece in pieces))


if __name__ == "__main__":
    main()
