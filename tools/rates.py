"""How long trials take by kind of learner, from the records of experiments: what `clems experiment plan` begins with.

Usage: python -m tools.rates

Seconds of processor time by labels times root of rows, for 100 trees; the median over datasets of means.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from clems.experiments import Store, read_spec
from clems.experiments.estimate import sizes_of

ROOT = Path(__file__).parents[1]


def main() -> None:
    seconds = defaultdict(list)
    for path in sorted(ROOT.glob("experiments/*/*.toml")):
        sizes = sizes_of(read_spec(path))
        for record in Store(ROOT / "results" / path.stem).records().values():
            if record["status"] == "done":
                rate = record["seconds"]["trial"] / sizes[record["dataset"]] / record["parameters"]["n_trees"]
                seconds[record["kind"], record["dataset"]].append(100 * rate)
    kinds = sorted({kind for kind, _ in seconds})
    for kind in kinds:
        print(f'    "{kind}": {np.median([np.mean(own) for (name, _), own in seconds.items() if name == kind]):.2g},')


if __name__ == "__main__":
    main()
