"""Commands on a Dask cluster: tables that are larger than memory, in many files or in one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from clems.cli.options import TagColumn, TextForm, form_for
from clems.wording import names_in

if TYPE_CHECKING:
    import pandas as pd

    from clems.cli.models import Loaded
    from clems.datasets.dataset import Dataset

AHEAD = 2  # answers of parts that are waited for, or wait to be written, for each thread of the cluster


def in_parts(file: str, scheduler: str | None, workers: int | None) -> bool:
    """Whether a file is to be read in parts by a cluster: a pattern or a folder is, and whatever the user says."""
    from clems.datasets.parts import is_pattern

    return scheduler is not None or workers is not None or is_pattern(file)


@contextmanager
def cluster(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a cluster, or start one of processes of this computer; Dask uses it inside."""
    from joblib import cpu_count  # type: ignore[import-untyped]

    from clems.dask.partitions import import_dask
    from clems.experiments.backends.dask_cluster import local_cluster
    from clems.experiments.backends.starting import apart_from_main

    if scheduler is not None and workers is not None:
        raise ValueError("--scheduler names a cluster, which has workers; leave out --workers.")
    distributed = import_dask("distributed")
    with ExitStack() as stack:
        if scheduler is None:  # to the end, as a worker that dies is started again
            stack.enter_context(apart_from_main([]))
        where = scheduler or stack.enter_context(local_cluster(distributed, workers or cpu_count()))
        client = stack.enter_context(distributed.Client(where))
        try:
            yield client
        except distributed.KilledWorker as error:
            raise ChildProcessError(
                f"A part of the data has cost {error.allowed_failures + 1} workers; it may take more memory than "
                "they have."
            ) from None


def fit_in_parts(
    model: Any,
    file: str,
    scheduler: str | None,
    workers: int | None,
    labels: str | None,
    tags: TagColumn,
    text: TextForm,
    **roles: Any,
) -> tuple[Dataset, int]:
    """Train a model on a table in parts; return some rows of it with the encoder of its columns, and count them."""
    from clems.dask.files import training_partitions
    from clems.dask.fitting import check_model, fit_partitions
    from clems.datasets.frame import Roles
    from clems.datasets.parts import parts_of

    check_model(model)
    form, named = form_for(text), names_in(labels) or None
    of_columns = Roles(named, tags.tags, tags.separator, None, roles["row_id"], roles["drop"], None, roles["kinds"])
    of_columns.check()
    parts = parts_of(file, delimiter=form["delimiter"], encoding=form["encoding"])
    with cluster(scheduler, workers):
        data, partitions, n = training_partitions(parts, of_columns, form, file)
        fit_partitions(model, partitions)
    return data, n


class Answered(NamedTuple):
    """Answers about a part: what is written, how many rows are handed over, and what is said of columns."""

    frame: pd.DataFrame
    over: int
    extra: list[str]
    unseen: dict[str, str]


def answers_in_parts(
    file: str,
    scheduler: str | None,
    workers: int | None,
    loaded: Loaded,
    options: dict[str, Any],
    form: dict[str, Any],
    answer: Callable[[Any], tuple[pd.DataFrame, int]],
) -> Iterator[tuple[Answered, float]]:
    """Answer about the parts of a table in their order, some ahead; with the share that is done.

    Parameters
    ----------
    file : str
        What `parts_of` takes.
    scheduler, workers
        As `cluster` takes them.
    loaded : Loaded
        The model.
    options : dict
        Of what is wanted from the file.
    form : dict
        How text is written.
    answer : callable
        From a piece of the rows to what is written, and how many rows are handed over.
    """
    from clems.dask.partitions import constant, import_dask, kept
    from clems.datasets.parts import parts_of

    delayed = import_dask().delayed
    parts = parts_of(file, delimiter=form["delimiter"], encoding=form["encoding"])
    with cluster(scheduler, workers) as client:
        (sent,) = kept([constant((loaded, options, answer))])
        tasks = [delayed(_answered)(part, sent, form) for part in parts]
        ahead = AHEAD * max(1, sum(client.nthreads().values()))
        under_way: deque[Any] = deque()
        for done, task in enumerate((*tasks, *[None] * ahead), 1 - ahead):
            if task is not None:
                under_way.append(client.compute(task))
            if done > 0:
                yield under_way.popleft().result(), done / len(tasks)


def _answered(part: Any, sent: Any, form: dict[str, Any]) -> Answered:
    import pandas as pd

    from clems.datasets.new_rows import NewRows

    loaded, options, answer = sent
    unseen: dict[str, str] = {}
    rows = NewRows(part, loaded.wanted(unseen, **options), **form)
    frames, over = zip(*map(answer, rows), strict=True)
    there = [frame for frame in frames if len(frame)] or [frames[0]]
    return Answered(pd.concat(there, ignore_index=True), sum(over), rows.extra, {**rows.unseen, **unseen})
