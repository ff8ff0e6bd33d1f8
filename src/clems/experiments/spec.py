"""What an experiment is: what its file may say, and what is wrong with one that says otherwise.

The map of the module: the parts of a file in the order in which they may be there (`SplitSpec`, `DataSpec`, `Entry`,
and `Spec`, the whole), and `check_spec`, which makes sentences of what is wrong.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from clems.costs.cost import Cost
from clems.costs.criteria import CRITERIA, known_criterion
from clems.costs.formulas import calls, get_cost
from clems.costs.text import read_cost
from clems.datasets import Dataset, load_dataset, read_dataset
from clems.datasets.catalogue import CATALOGUE, find_given_rows
from clems.datasets.dataset import stack
from clems.datasets.given_rows import read_given_rows
from clems.evaluation.ranking import RANKINGS, ranking_named
from clems.experiments.identity import fingerprint
from clems.experiments.output.kinds import KINDS
from clems.experiments.trial import GIVEN, TRAINING_FILE, Data, built
from clems.learners import LEARNERS
from clems.learners.base import MultiLabelClassifier
from clems.learners.pipeline import steps_of
from clems.wording import did_you_mean, plural

DEPTHS = [5, 10, 15, 20, 25, 30, 35]  # those of the paper
SET_BY_TRIALS = ("cost", "random_state", "n_jobs", "verbose")  # parameters that a spec does not set


class SpecError(ValueError):
    """An experiment's file is wrong; the message names the key and what is allowed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from clems.experiments import SpecError, read_spec
    >>> _ = Path("small.toml").write_text('title = "Small"')
    >>> try:
    ...     read_spec("small.toml")
    ... except SpecError as error:
    ...     print("datasets" in str(error))
    True
    """


def _one_of(what: str, allowed: Any, *unlisted: str) -> Any:
    def check(name: str) -> str:
        if name not in allowed and name not in unlisted:
            allowed_are = f"allowed are {', '.join(sorted(allowed))}"
            raise ValueError(f"there is no {what} {name!r}; {did_you_mean(name, allowed) or allowed_are}")
        return name

    return AfterValidator(check)


Count = Annotated[int, Field(ge=1, strict=True)]
Depth = Count | Literal["none"]
LearnerName = Annotated[str, _one_of("learner", LEARNERS, GIVEN)]
KindName = Annotated[str, _one_of("kind", KINDS)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class SplitSpec(_Part):
    """How rows are divided.

    Attributes
    ----------
    kind : {"random", "published"}
        At random, or as a dataset is published: in training and test files, or by row numbers of both, of which each
        repetition has its own.
    train, validation, test : float
        Shares of the rows of a random split. Of a published one `validation` is a share of the training file: depths
        are chosen by training on the rest of it, and what is tested is then trained on all of it.
    swapped : list of str
        Datasets whose published test file is the training file here, and the training file the test file.
    training_file : list of str
        Datasets of which a random split divides the training file alone, so that the test file stays unseen.
    """

    kind: Literal["random", "published"] = "random"
    train: float = Field(default=0.5, gt=0, lt=1)
    validation: float = Field(default=0.25, ge=0, lt=1)
    test: float = Field(default=0.25, gt=0, lt=1)
    swapped: list[str] = []
    training_file: list[str] = []

    @model_validator(mode="after")
    def _whole(self) -> SplitSpec:
        if self.kind == "random" and self.train + self.validation + self.test > 1 + 1e-9:
            raise ValueError("train, validation and test are together more than 1")
        if self.kind == "random" and {*self.swapped} - {*self.training_file}:
            raise ValueError("swapped needs files to swap; use split.kind = 'published'")
        if self.kind == "published" and self.training_file:
            raise ValueError("training_file is divided at random; use split.kind = 'random'")
        return self

    def has_files(self, dataset: str) -> bool:
        """Whether the split of a dataset needs its published files."""
        return self.kind == "published" or dataset in self.training_file

    def files(self, dataset: str) -> tuple[str, str]:
        """Names of the published files of a dataset that serve as training and test file."""
        return ("test", "train") if dataset in self.swapped else ("train", "test")

    def of(self, dataset: str) -> tuple[str, float, float, float]:
        """Kind of the split of a dataset, and shares of training, validation and test rows."""
        kind: str = "swapped" if dataset in self.swapped else self.kind
        if dataset in self.training_file:
            kind = f"{kind} {TRAINING_FILE}"
        return kind, self.train, self.validation, self.test


class DataSpec(_Part):
    """A dataset in a file of the user.

    Attributes
    ----------
    path : Path
        The file, as seen from the folder of the spec.
    options : dict
        Options of its reader, such as ``labels = "tag_*"``.
    """

    path: Path
    options: dict[str, Any] = {}

    def read(self, name: str) -> Dataset:
        """Read it, as the dataset of a name."""
        try:
            return read_dataset(self.path, **{"name": name} | self.options)
        except TypeError as error:
            raise SpecError(f"data.{name}.options: {error}") from None


class Entry(_Part):
    """A learner in its place: a column of a table or a curve of a figure.

    Attributes
    ----------
    kind : str
        Key of `LEARNERS`; by default the name of the entry, or "given" with a `model`.
    title : str
        How it is headed; by default its name.
    parameters : dict
        Parameters of the learner; "none" stands for None, for which TOML has no word. A dict with a ``class``, named as
        ``"module:name"``, stands for an estimator with the other values as its parameters.
    on : dict
        Parameters that differ for a dataset.
    grid : dict
        Lists of values of parameters, the best of which is chosen on validation rows.
    along : dict
        One parameter and its values: where the entry stands on the horizontal axis of a figure.
    at : list of float
        Places on that axis if the values are no numbers.
    cost : str or None
        Train and decide always for this cost, whatever criterion is reported.
    trained_for : str or None
        Train always for this cost, and decide for the criterion that is reported.
    over : str or None
        Entry over whose costs its own are shown, in an experiment of the kind "ratios".
    repetitions : int or None
        At most so many repetitions of its trials, where it takes longer than others.
    printed_as : str or None
        Entry under whose name `printed` has what its values are to be compared with; by default its own.
    needs : str
        Package of its learner or estimator that may not be installed: what is recorded can be reported without it.
    notes : str
        A remark for readers of the table.
    model : estimator or None
        An estimator in place of a kind and parameters, trained anew in each trial; files cannot give one.
    """

    kind: LearnerName
    title: str = ""
    parameters: dict[str, Any] = {}
    on: dict[str, dict[str, Any]] = {}
    grid: dict[str, list[Any]] = {}
    along: dict[str, list[Any]] = {}
    at: list[float] = []
    cost: str | None = None
    trained_for: str | None = None
    over: str | None = None
    repetitions: Count | None = None
    printed_as: str | None = None
    needs: str = ""
    notes: str = ""
    model: Any = None

    @model_validator(mode="after")
    def _known(self) -> Entry:
        if self.model is not None or self.kind == GIVEN:
            return self._checked_model()
        learner = LEARNERS[self.kind]
        allowed = {*inspect.signature(learner).parameters} - {*SET_BY_TRIALS}
        named = {*self.parameters, *self.grid, *self.along}.union(*self.on.values())
        if unknown := sorted(named - allowed):
            raise ValueError(f"{self.kind} has no parameter {unknown[0]!r} to set; it has {', '.join(sorted(allowed))}")
        if len(self.along) > 1:
            raise ValueError(f"along takes one parameter, not {len(self.along)}")
        for key, lists in (("grid", self.grid), ("along", self.along)):
            if empty := [name for name, values in lists.items() if not values]:
                raise ValueError(f"{key}.{empty[0]} has no values")
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.axis_values)
        if not numbers and not self.at:
            raise ValueError(f"along.{next(iter(self.along))} has values that are no numbers; at gives their places")
        if self.at and len(self.at) != len(self.axis_values):
            raise ValueError(f"at has {len(self.at)} places for {len(self.axis_values)} values")
        if self.cost is not None and not learner.cost_sensitive and not learner.cost_at_predict:
            raise ValueError(f"{self.kind} takes no cost")
        if self.trained_for is not None and not (learner.cost_at_fit and learner.cost_at_predict):
            raise ValueError(f"{self.kind} cannot be trained for one cost and decide for another")
        if self.trained_for is not None and self.cost is not None:
            raise ValueError("cost and trained_for exclude each other")
        for values in (self.parameters, *self.on.values()):
            if self.is_installed:
                built(values)
        return self

    def _checked_model(self) -> Entry:
        if not (hasattr(self.model, "fit") and hasattr(self.model, "predict") and hasattr(self.model, "get_params")):
            raise ValueError("model must be an estimator of scikit-learn's form; a file names a kind and parameters")
        if self.parameters or self.on or self.grid or self.along or self.trained_for:
            raise ValueError("model has its own parameters; set them on the estimator")
        if self.cost is not None and not getattr(self.learner, "cost_sensitive", False):
            raise ValueError(f"{type(steps_of(self.model)[1]).__name__} takes no cost")
        return self

    @property
    def is_installed(self) -> bool:
        """Whether the package that it needs is installed."""
        return not self.needs or find_spec(self.needs) is not None

    @property
    def learner(self) -> type[MultiLabelClassifier] | None:
        """What it trains, for its facts; None of a classifier that is no learner of clems."""
        if self.model is None:
            return LEARNERS[self.kind]
        last = steps_of(self.model)[1]
        return type(last) if isinstance(last, MultiLabelClassifier) else None

    @property
    def axis_values(self) -> list[Any]:
        """Values of the parameter that runs along the axis."""
        return next(iter(self.along.values()), [])


class Spec(_Part):
    """An experiment: which learners on which data by which criteria, and how it is shown.

    Attributes
    ----------
    title : str
        What it is.
    kind : {"table", "ratios", "curves", "times"}
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
    depths : list of int or "none"
        Depths of trees to choose from on validation rows, "none" for trees as deep as they grow;
        learners that choose for themselves are left to it.
    split : SplitSpec
        How rows are divided.
    seed : int
        From which all seeds come.
    data : dict
        Datasets of the user: files, or datasets in memory.
    costs : dict
        Costs of the user by the name that criteria call them: ``"module:function"``, a file of prices, or a Cost.
    printed : Path or None
        CSV of values printed elsewhere to show beside: dataset, learner, criterion, mean and ste.
    reasons : Path or None
        CSV of why values differ from printed ones: dataset, learner, criterion (each may be empty for all) and reason.
    baseline : str or None
        Entry to which running times are relative.
    x_label : str
        Name of the horizontal axis.
    notes : str
        A remark for readers.

    Examples
    --------
    >>> from clems.experiments import Spec
    >>> learners = {"br": {}, "pcc": {}}
    >>> spec = Spec(title="Two learners", datasets=["digit-scenes"], criteria=["f1"], learners=learners, repetitions=2)
    >>> spec.kind, spec.repetitions, list(spec.learners)
    ('table', 2, ['br', 'pcc'])
    """

    title: str
    kind: KindName = "table"
    datasets: list[str] = Field(min_length=1)
    criteria: list[str] = Field(min_length=1)
    learners: dict[str, Entry] = Field(min_length=1)
    repetitions: Count = 5
    repetitions_on: dict[str, Count] = {}
    trees: Count = 100
    depths: list[Depth] = Field(default=[*DEPTHS], min_length=1)
    split: SplitSpec = SplitSpec()
    seed: int = Field(default=0, ge=0)
    data: dict[str, DataSpec | Dataset] = {}
    costs: dict[str, Any] = {}
    printed: Path | None = None
    reasons: Path | None = None
    baseline: str | None = None
    x_label: str = ""
    notes: str = ""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Entries are of the kind, and headed by the name, that they are called."""
        learners = given.get("learners") if isinstance(given, dict) else None
        if not isinstance(learners, dict) or not all(isinstance(entry, dict) for entry in learners.values()):
            return given
        named = {
            name: {"kind": GIVEN if "model" in entry else name, "title": name} | entry
            for name, entry in learners.items()
        }
        return {**given, "learners": named}

    @model_validator(mode="after")
    def _fitting(self) -> Spec:
        known = {*CATALOGUE, *self.data}
        mentioned = {
            "datasets": self.datasets,
            "repetitions_on": [*self.repetitions_on],
            "split.swapped": self.split.swapped,
            "split.training_file": self.split.training_file,
        }
        for name, entry in self.learners.items():
            mentioned[f"learners.{name}.on"] = [*entry.on]
        for key, names in mentioned.items():
            if unknown := [name for name in names if name not in known]:
                close = get_close_matches(unknown[0], known, n=1)
                hint = f"did you mean {close[0]!r}? " if close else ""
                raise ValueError(
                    f"{key}: there is no dataset {unknown[0]!r}; {hint}list_datasets() lists those that are known, "
                    "and [data] adds your own"
                )
        for key, name in self._criteria_and_costs():
            ranks = key == "criteria" and ranking_named(name) is not None
            if name not in self.costs and known_criterion(name) is None and not ranks:
                allowed = ", ".join([*sorted(CRITERIA), *calls(), *(f"{one}@k" for one in RANKINGS)])
                raise ValueError(f"{key}: there is no criterion {name!r}; allowed are {allowed} and those of [costs]")
        if taken := [name for name in self.costs if known_criterion(name) or ranking_named(name)]:
            raise ValueError(f"costs.{taken[0]}: the package has a criterion of this name; call yours otherwise")
        for key, names in (("datasets", self.datasets), ("criteria", self.criteria)):
            if repeated := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                raise ValueError(f"{key}: {repeated[0]!r} is listed twice")
        if self.baseline is not None and self.baseline not in self.learners:
            raise ValueError(f"baseline: there is no entry {self.baseline!r}; entries are {', '.join(self.learners)}")
        for name, entry in self.learners.items():
            if entry.over is not None and entry.over not in self.learners:
                raise ValueError(
                    f"learners.{name}.over: there is no entry {entry.over!r}; entries are {', '.join(self.learners)}"
                )
            if entry.printed_as is not None and entry.printed_as not in self.learners:
                raise ValueError(
                    f"learners.{name}.printed_as: there is no entry {entry.printed_as!r}; "
                    f"entries are {', '.join(self.learners)}"
                )
        if fault := KINDS[self.kind].fault(self):
            raise ValueError(fault)
        return self

    def _criteria_and_costs(self) -> list[tuple[str, str]]:
        """List the criteria and costs that it names, each with the key where it does."""
        of_learners = [
            (f"learners.{name}.{key}", getattr(entry, key))
            for name, entry in self.learners.items()
            for key in ("cost", "trained_for")
            if getattr(entry, key)
        ]
        return [*(("criteria", name) for name in self.criteria), *of_learners]

    def load(self, name: str) -> Data:
        """Load a dataset of the experiment, with its published division if the split needs that."""
        published = self.split.kind == "published" and name not in self.data
        if published and (files := find_given_rows(name)):
            whole = self._dataset(name, "all")
            given = read_given_rows(*files, whole.X.shape[0])
            if (wanted := self.repetitions_on.get(name, self.repetitions)) > given.repetitions:
                raise SpecError(
                    f"{files[0]} has {plural(given.repetitions, 'column')}, each for one repetition; repetitions is "
                    f"{wanted}."
                )
            return Data(whole, given=given)
        if self.split.has_files(name):
            train, test = (self._dataset(name, file) for file in self.split.files(name))
            return Data(stack(train, test), train.X.shape[0])
        return Data(self._dataset(name, "all"))

    def _dataset(self, name: str, part: Any) -> Dataset:
        if name not in self.data:
            return load_dataset(name, part)
        if part != "all":
            raise SpecError(f"data.{name}: a file of one's own has no published split; use split.kind = 'random'.")
        given = self.data[name]
        return given if isinstance(given, Dataset) else given.read(name)

    def fingerprint(self, name: str) -> str:
        """Compute the checksum of costs of the user and of the content of a dataset of the user; "" without either."""
        if name not in self.data and not self.own_costs():
            return ""
        return fingerprint(self._dataset(name, "all") if name in self.data else None, self.own_costs())

    def own_costs(self) -> dict[str, Cost]:
        """Resolve the costs of the user, by name, and those of numbers that it names.

        These are ``precision_at(3)`` and the like, and the costs of label sets that go with rankings, such as P@3.
        """
        listed = {*self.costs, *CRITERIA}
        of_numbers = {
            name: _cost(name, ranking.cost if (ranking := ranking_named(name)) else name)
            for _, name in self._criteria_and_costs()
            if name not in listed
        }
        return of_numbers | {name: _cost(name, given) for name, given in self.costs.items()}


def _cost(name: str, given: Any) -> Cost:
    """Resolve a cost given as text, see :func:`read_cost`, or as object; a trial calls it by the name of the spec."""
    try:
        return replace(get_cost(read_cost(given) if isinstance(given, str) else given), name=name)
    except (TypeError, ValueError) as error:
        raise SpecError(f"costs.{name}: {error}") from None


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
        raise SpecError(
            f"{where}: {f'{key}: ' if key else ''}{reason}{'' if reason.endswith('?') else '.'}{more}"
        ) from None


def _fields_at(path: tuple[Any, ...]) -> list[str]:
    """List the keys that are allowed at a path of the file."""
    parts: dict[str, type[BaseModel]] = {"learners": Entry, "data": DataSpec, "split": SplitSpec}
    part = parts.get(path[0], Spec) if path else Spec
    return sorted(part.model_fields)
