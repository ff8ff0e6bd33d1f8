"""Coverage-guided fuzzing of the model loader: files grow towards parts of `clems.persistence` that none has reached.

A file is changed by the mutations of `attack.models`, which know what a model file consists of, or byte by byte;
signed, loaded and asked to predict. A crash, a hang of ten seconds, six gibibytes of memory, or an exception of the
loader that is no `ModelError` ends the run, and the file is kept. Needs atheris: ``pip install atheris``.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["clems.persistence"]):
    from clems.persistence import ModelError, load

from attack.forging import DIGEST, members_of, packed, signed
from attack.models import CHANGES, answers, subjects
from clems import LEARNERS, save

MODELS = ["br: svc", "br: kd tree", "br: boosting", "br: binned boosting", "br: mlp", "br: pipeline", "br: calibrated"]
MODELS += ["br: brute neighbours", "plst: ridge", "clems: random state", "expert: linear, sparse", "expert: gaussian"]
MODELS += ["pipeline: table", "pipeline: terms", "pipeline: records, components", "guaranteed"]
PLACE = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)) / "model.clems"


def load_and_predict(body: bytes) -> None:
    """Load a file and let its model predict; only the loader has to end in a `ModelError`."""
    PLACE.write_bytes(signed(body))
    try:
        model = load(PLACE)
    except ModelError as error:
        if not str(error).isprintable():
            raise AssertionError(f"An odd message: {error!r}") from None
        return
    try:
        answers(model)
    except Exception:  # a model that says that it cannot predict does no harm
        return


def mutate(body: bytes, most: int, seed: int) -> bytes:
    """Change a file by what is known of its structure, mostly."""
    rng = random.Random(seed)
    if rng.random() < 0.2:
        return atheris.Mutate(body, most)
    try:
        members = members_of(signed(body))
        for _ in range(rng.choice([1, 1, 2])):
            rng.choice(CHANGES)(members, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            changed = packed(members, zipfile.ZIP_DEFLATED)[:-DIGEST]
    except Exception:  # an earlier change left nothing to change
        return atheris.Mutate(body, most)
    return changed if len(changed) <= most else body


def write_seeds(folder: Path) -> None:
    """Honest files to start from."""
    folder.mkdir(parents=True, exist_ok=True)
    made = subjects()
    for name in (*(name for name in LEARNERS if name in made), *MODELS):
        save(made[name], PLACE)
        (folder / f"honest-{name.replace(': ', '-').replace(' ', '-')}").write_bytes(PLACE.read_bytes()[:-DIGEST])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--corpus", type=Path, default=Path("attack/corpus/models"))
    parser.add_argument("--found", type=Path, default=Path("build/attack"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--merge", type=Path, help="write the fewest files of this corpus that reach as much to --corpus"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.corpus.mkdir(parents=True, exist_ok=True)
    options.found.mkdir(parents=True, exist_ok=True)
    flags = [sys.argv[0], "-timeout=10", "-rss_limit_mb=6144", "-max_len=200000", f"-artifact_prefix={options.found}/"]
    if options.merge:
        flags += ["-merge=1", str(options.corpus), str(options.merge)]
    else:
        seeds = PLACE.parent / "seeds"
        write_seeds(seeds)
        flags += [
            f"-max_total_time={options.seconds}",
            f"-seed={options.seed}",
            "-print_final_stats=1",
            "-use_value_profile=0",
        ]
        flags += [str(options.corpus), str(seeds)]
    atheris.Setup(flags, load_and_predict, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
