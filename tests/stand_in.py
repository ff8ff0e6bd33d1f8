"""Trials that do next to nothing, in a module that workers can import."""

import multiprocessing
import os
import signal
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from threadpoolctl import threadpool_info


@dataclass(frozen=True)
class Trial:
    """A stand-in; what is to happen is in its kind."""

    dataset: str
    repetition: int
    kind: str = "well"
    folder: str = ""
    cost: str | None = None
    parameters: str = '{"alpha": 1}'

    @property
    def key(self):
        return f"{self.dataset}-{self.repetition}-{self.kind}"

    def is_first_time(self):
        """Say once, to whichever process asks first, that it is the first."""
        try:
            Path(self.folder, self.key).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


class Data:
    """A dataset that writes down each time it arrives in a process."""

    def __init__(self, name, folder):
        self.name, self.folder = name, folder

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.folder:
            with Path(self.folder, "arrivals").open("a") as file:
                file.write(f"{os.getpid()} {self.name}\n")


class Unreadable:
    def __reduce__(self):
        return sys.exit, ("never unpickled in the parent",)


def work(trial, dataset, costs):
    assert dataset.name == trial.dataset
    if trial.kind == "wrong":
        raise ValueError("this trial\nis wrong")
    if trial.kind == "exits":
        sys.exit("enough")
    if trial.kind == "strange":
        return {"key": trial.key, "status": "done", "value": object()}
    if trial.kind == "deadly" or (trial.kind == "deadly-once" and trial.is_first_time()):
        os.kill(os.getpid(), signal.SIGKILL)
    if trial.kind == "slow":
        sleep(100)
    if trial.kind == "quick":
        sleep(0.005)
    if trial.kind == "threads":
        costs = [max(library["num_threads"] for library in threadpool_info())]
    value = {"sum": sum(costs) + 0.1 * trial.repetition, "nan": float("nan"), "pair": (1, 2)}
    return {"key": trial.key, "status": "done", "dataset": trial.dataset, "value": value, "seconds": {"fit": 0.0}}


def load(name, folder=""):
    if name == "missing":
        raise FileNotFoundError("No dataset 'missing'.")
    return Data(name, folder)


@dataclass(frozen=True)
class Loading:
    """Load data that writes down its arrivals in a folder."""

    folder: str

    def __call__(self, name):
        return load(name, self.folder)


def collected(results):
    """Records by key, each once, without what differs from time to time."""
    found = {}
    with closing(results):
        for trial, record in results:
            assert record["key"] == trial.key
            assert trial.key not in found
            found[trial.key] = lasting(record)
    return found


def lasting(record):
    """Leave out of a record what differs from time to time."""
    return {name: value for name, value in record.items() if name not in ("seconds", "traceback")}


QUICK = [Trial(dataset, repetition, "quick") for dataset in "ab" for repetition in range(20)]


def workers():
    """Processes that this one has started, but for those that joblib keeps for the tests of others."""
    return [child for child in multiprocessing.active_children() if not child.name.startswith("Loky")]


class DeadlyRows:
    """Rows whose reading kills the worker that does it, once."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __call__(self, block, block_info=None):
        mark = Path(self.folder, "killed")
        at = (block_info or {}).get(0, {}).get("chunk-location", (0,))[0]
        if at == 2 and Path(self.folder, "armed").exists() and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block
