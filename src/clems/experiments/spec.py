"""What an experiment is: a declarative file, checked as it is read."""

from __future__ import annotations

import inspect
import pickle
import tomllib
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from types import CodeType, FunctionType
from typing import Annotated, Any, Literal

import numpy as np
from joblib import hash as joblib_hash  # type: ignore[import-untyped]
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from clems.cost import Cost
from clems.cost_files import function_of
from clems.costs import get_cost
from clems.criteria import CRITERIA
from clems.datasets import Dataset, load_dataset, read_dataset
from clems.datasets.catalogue import CATALOGUE
from clems.datasets.dataset import stack
from clems.datasets.reading import reader_of
from clems.experiments.trial import Data
from clems.learners import LEARNERS

DEPTHS = [5, 10, 15, 20, 25, 30, 35]  # those of the paper
DATA = (bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset, np.ndarray)  # that code refers to
SET_BY_TRIALS = ("cost", "random_state", "n_jobs", "verbose")  # parameters that a spec does not set


class SpecError(ValueError):
    """An experiment's file is wrong; the message names the key and what is allowed."""


def _one_of(what: str, allowed: Any) -> Any:
    def check(name: str) -> str:
        if name not in allowed:
            raise ValueError(f"there is no {what} {name!r}; allowed are {', '.join(sorted(allowed))}")
        return name

    return AfterValidator(check)


Count = Annotated[int, Field(ge=1, strict=True)]
LearnerName = Annotated[str, _one_of("learner", LEARNERS)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class SplitSpec(_Part):
    """How rows are divided.

    Attributes
    ----------
    kind : {"random", "published"}
        At random, or in the training and test files that a dataset is published with.
    train, validation, test : float
        Shares of the rows of a random split. Of a published one `validation` is a share of the training file: depths
        are chosen by training on the rest of it, and what is tested is then trained on all of it.
    swapped : list of str
        Datasets of a published split that are trained on the test file and tested on the training file.
    """

    kind: Literal["random", "published"] = "random"
    train: float = Field(default=0.5, gt=0, lt=1)
    validation: float = Field(default=0.25, ge=0, lt=1)
    test: float = Field(default=0.25, gt=0, lt=1)
    swapped: list[str] = []

    @model_validator(mode="after")
    def _whole(self) -> SplitSpec:
        if self.kind == "random" and self.train + self.validation + self.test > 1 + 1e-9:
            raise ValueError("train, validation and test are together more than 1")
        if self.kind == "random" and self.swapped:
            raise ValueError("swapped needs files to swap; use split.kind = 'published'")
        return self

    def of(self, dataset: str) -> tuple[str, float, float, float]:
        """Kind of the split of a dataset, and shares of training, validation and test rows."""
        return "swapped" if dataset in self.swapped else self.kind, self.train, self.validation, self.test


class DataSpec(_Part):
    """A dataset of one's own.

    Attributes
    ----------
    path : Path
        The file, as seen from the folder of the spec.
    options : dict
        Options of its reader, such as ``labels = "tag_*"``.
    """

    path: Path
    options: dict[str, Any] = {}


class Entry(_Part):
    """A learner in its place: a column of a table or a curve of a figure.

    Attributes
    ----------
    kind : str
        Key of `LEARNERS`; by default the name of the entry.
    title : str
        How it is headed; by default its name.
    parameters : dict
        Parameters of the learner; "none" stands for None, for which TOML has no word.
    on : dict
        Parameters that differ for a dataset.
    grid : dict
        Lists of values of parameters, the best of which is chosen on validation rows.
    along : dict
        One parameter and its values: where the entry stands on the horizontal axis of a figure.
    at : list of float
        Places on that axis if the values are no numbers.
    cost : str or None
        Decide always for this cost, whatever criterion is reported.
    notes : str
        A remark for readers of the table.
    """

    kind: LearnerName
    title: str = ""
    parameters: dict[str, Any] = {}
    on: dict[str, dict[str, Any]] = {}
    grid: dict[str, list[Any]] = {}
    along: dict[str, list[Any]] = {}
    at: list[float] = []
    cost: str | None = None
    notes: str = ""

    @model_validator(mode="after")
    def _known(self) -> Entry:
        learner = LEARNERS[self.kind]
        allowed = {*inspect.signature(learner).parameters} - {*SET_BY_TRIALS}
        named = {*self.parameters, *self.grid, *self.along} | {name for own in self.on.values() for name in own}
        if unknown := sorted(named - allowed):
            raise ValueError(f"{self.kind} has no parameter {unknown[0]!r} to set; it has {', '.join(sorted(allowed))}")
        if len(self.along) > 1:
            raise ValueError(f"along takes one parameter, not {len(self.along)}")
        for key, lists in (("grid", self.grid), ("along", self.along)):
            if empty := [name for name, values in lists.items() if not values]:
                raise ValueError(f"{key}.{empty[0]} has no values")
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.places)
        if not numbers and not self.at:
            raise ValueError(f"along.{next(iter(self.along))} has values that are no numbers; at gives their places")
        if self.at and len(self.at) != len(self.places):
            raise ValueError(f"at has {len(self.at)} places for {len(self.places)} values")
        if self.cost is not None and not learner.cost_sensitive and not learner.cost_at_predict:
            raise ValueError(f"{self.kind} takes no cost")
        return self

    @property
    def places(self) -> list[Any]:
        """Values of the parameter that runs along the axis."""
        return next(iter(self.along.values()), [])


class Spec(_Part):
    """An experiment: which learners on which data by which criteria, and how it is shown.

    Attributes
    ----------
    title : str
        What it is.
    kind : {"table", "curves", "times"}
        How it is shown.
    datasets : list of str
        Names of the catalogue or of `data`.
    criteria : list of str
        What is reported; those that are costs are trained for.
    learners : dict
        Entries by name, in order.
    repetitions : int
        Of each trial, with other splits and seeds.
    repetitions_on : dict
        Other numbers of repetitions for some datasets.
    trees : int
        Trees of default forests.
    depths : list of int
        Depths of trees to choose from on validation rows; learners that choose for themselves are left to it.
    split : SplitSpec
        How rows are divided.
    seed : int
        From which all seeds come.
    data : dict
        Datasets of one's own: files, or datasets at hand.
    costs : dict
        Costs of one's own by the name that criteria call them: ``"module:function"``, or a Cost.
    printed : Path or None
        CSV of values printed elsewhere to show beside: dataset, learner, criterion, mean and ste.
    baseline : str or None
        Entry to which running times are relative.
    x_label : str
        Name of the horizontal axis.
    notes : str
        A remark for readers.
    """

    title: str
    kind: Literal["table", "curves", "times"] = "table"
    datasets: list[str] = Field(min_length=1)
    criteria: list[str] = Field(min_length=1)
    learners: dict[str, Entry] = Field(min_length=1)
    repetitions: Count = 5
    repetitions_on: dict[str, Count] = {}
    trees: Count = 100
    depths: list[Count] = Field(default=DEPTHS, min_length=1)
    split: SplitSpec = SplitSpec()
    seed: int = Field(default=0, ge=0)
    data: dict[str, DataSpec | Dataset] = {}
    costs: dict[str, Any] = {}
    printed: Path | None = None
    baseline: str | None = None
    x_label: str = ""
    notes: str = ""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Entries are of the kind, and headed by the name, that they are called."""
        learners = given.get("learners") if isinstance(given, dict) else None
        if not isinstance(learners, dict) or not all(isinstance(own, dict) for own in learners.values()):
            return given
        return {**given, "learners": {name: {"kind": name, "title": name} | own for name, own in learners.items()}}

    @model_validator(mode="after")
    def _fitting(self) -> Spec:
        known = {*CATALOGUE, *self.data}
        mentioned = {
            "datasets": self.datasets,
            "repetitions_on": [*self.repetitions_on],
            "split.swapped": self.split.swapped,
        }
        for name, entry in self.learners.items():
            mentioned[f"learners.{name}.on"] = [*entry.on]
        for key, names in mentioned.items():
            if unknown := [name for name in names if name not in known]:
                close = get_close_matches(unknown[0], known, n=1)
                meant = f"did you mean {close[0]!r}? " if close else ""
                raise ValueError(
                    f"{key}: there is no dataset {unknown[0]!r}; {meant}list_datasets() lists those that are known, "
                    "and [data] adds your own"
                )
        wanted = {f"learners.{name}.cost": entry.cost for name, entry in self.learners.items() if entry.cost}
        for key, name in [*(("criteria", name) for name in self.criteria), *wanted.items()]:
            if name not in CRITERIA and name not in self.costs:
                allowed = ", ".join(sorted(CRITERIA))
                raise ValueError(f"{key}: there is no criterion {name!r}; allowed are {allowed} and those of [costs]")
        if taken := [name for name in self.costs if name in CRITERIA]:
            raise ValueError(f"costs.{taken[0]}: the package has a criterion of this name; call yours otherwise")
        for key, names in (("datasets", self.datasets), ("criteria", self.criteria)):
            if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                raise ValueError(f"{key}: {repeated[0]!r} is listed twice")
        if self.baseline is not None and self.baseline not in self.learners:
            raise ValueError(f"baseline: there is no entry {self.baseline!r}; entries are {', '.join(self.learners)}")
        if self.kind == "times" and self.baseline is None:
            raise ValueError("baseline: times are relative to an entry; name it")
        if self.kind == "curves" and not any(entry.along for entry in self.learners.values()):
            raise ValueError("learners: curves need an entry with a parameter along the axis")
        return self

    def load(self, name: str) -> Data:
        """Load a dataset of the experiment, divided as published if that is how it is divided."""
        if self.split.kind == "published":
            files = ("test", "train") if name in self.split.swapped else ("train", "test")
            train, test = (self._dataset(name, file) for file in files)
            return Data(stack(train, test), train.X.shape[0])
        return Data(self._dataset(name, "all"))

    def _dataset(self, name: str, part: Any) -> Dataset:
        if name not in self.data:
            return load_dataset(name, part)
        if part != "all":
            raise SpecError(f"data.{name}: a file of one's own has no published split; use split.kind = 'random'.")
        own = self.data[name]
        if isinstance(own, Dataset):
            return own
        try:
            return read_dataset(own.path, **{"name": name} | own.options)
        except TypeError as error:
            raise SpecError(f"data.{name}.options: {error}") from None

    def fingerprint(self, name: str) -> str:
        """Checksum of what is one's own: costs, and the content of a dataset and how it is read; "" if nothing is."""
        if name not in self.data and not self.costs:
            return ""
        own = self._dataset(name, "all") if name in self.data else None
        content = own and [own.X, own.Y]
        return str(joblib_hash([content, {name: _identity(cost) for name, cost in self.own_costs().items()}]))[:16]

    def own_costs(self) -> dict[str, Cost]:
        """Costs of one's own by name."""
        return {name: _cost(name, given) for name, given in self.costs.items()}


def _identity(cost: Any, seen: frozenset[int] = frozenset()) -> Any:
    """Tell a cost from another one: a function by its code and by all that its code refers to and that may change."""
    function = getattr(cost, "function", cost)
    code = getattr(function, "__code__", None)
    if code is None:
        return cost
    if id(function) in seen:
        return function.__qualname__
    seen |= {id(function)}
    names = {name for part in _codes(code) for name in part.co_names}
    around = {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}
    around |= dict(zip(code.co_freevars, [cell.cell_contents for cell in function.__closure__ or ()], strict=True))
    values = {
        name: _identity(value, seen) if isinstance(value, FunctionType) else value
        for name, value in around.items()
        if isinstance(value, FunctionType) or (isinstance(value, DATA) and can_be_sent(value))
    }
    written = [
        [part.co_code, part.co_names, [one for one in part.co_consts if not isinstance(one, CodeType)]]
        for part in _codes(code)
    ]
    return [function.__qualname__, written, function.__defaults__, function.__kwdefaults__, values]


def can_be_sent(value: Any) -> bool:
    """Whether a value can be sent to other processes, and so has a checksum."""
    try:
        pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _codes(code: CodeType) -> list[CodeType]:
    """Code of a function and of all functions that are written in it."""
    inner = [part for one in code.co_consts if isinstance(one, CodeType) for part in _codes(one)]
    return [code, *inner]


def _cost(name: str, given: Any) -> Cost:
    """Return the cost that is meant, which a trial calls by the name of the spec."""
    try:
        return replace(get_cost(function_of(given) if isinstance(given, str) else given), name=name)
    except (TypeError, ValueError) as error:
        raise SpecError(f"costs.{name}: {error}") from None


def read_spec(path: str | Path) -> Spec:
    """Read an experiment's file.

    Parameters
    ----------
    path : str or Path
        A TOML file.

    Returns
    -------
    Spec

    Raises
    ------
    SpecError
        If it is wrong; the message names the key and what is allowed.
    """
    path = Path(path)
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{path} is not TOML: {error}.") from None
    except RecursionError:
        raise SpecError(f"{path} cannot be read: it is nested too deeply.") from None
    spec = check_spec(given, str(path))
    folder = path.resolve().parent
    data = {name: _seen_from(folder, own) for name, own in spec.data.items() if isinstance(own, DataSpec)}
    for name, own in data.items():
        if not own.path.is_file():
            raise SpecError(f"{path}: data.{name}.path: there is no file {own.path}.")
        try:
            allowed = inspect.signature(reader_of(own.path)).parameters
        except ValueError as error:
            raise SpecError(f"{path}: data.{name}.path: {error}") from None
        options = [option for option in allowed if option not in ("path", "name", "limits")]
        if unknown := sorted({*own.options} - {*options}):
            raise SpecError(f"{path}: data.{name}.options: no option {unknown[0]!r}; allowed are {', '.join(options)}.")
    printed = None if spec.printed is None else folder / spec.printed
    if printed is not None and not printed.is_file():
        raise SpecError(f"{path}: printed: there is no file {printed}.")
    return spec.model_copy(update={"data": data, "printed": printed})


def _seen_from(folder: Path, own: DataSpec) -> DataSpec:
    """Find the files of a dataset from the folder of the spec."""
    files = {
        name: str(folder / value)
        for name, value in own.options.items()
        if isinstance(value, str) and (name == "pairs" or (name == "labels" and value.lower().endswith(".xml")))
    }
    return own.model_copy(update={"path": folder / own.path, "options": own.options | files})


def check_spec(given: dict[str, Any], where: str = "spec") -> Spec:
    """Check what an experiment's file says."""
    try:
        return Spec.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            reason = f"there is no such key; allowed are {', '.join(_fields_at(first['loc'][:-1]))}"
        more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise SpecError(f"{where}: {f'{key}: ' if key else ''}{reason}.{more}") from None


def _fields_at(place: tuple[Any, ...]) -> list[str]:
    """Keys that are allowed at a place of the file."""
    parts: dict[str, type[BaseModel]] = {"learners": Entry, "data": DataSpec, "split": SplitSpec}
    part = parts.get(place[0], Spec) if place else Spec
    return sorted(part.model_fields)
