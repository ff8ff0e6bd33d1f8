"""Cost-sensitive multi-label classification."""

TYPE_CHECKING = False  # as in typing, which is not imported so that `python -m clems` imports next to nothing at first

__version__ = "0.1.0"

__all__ = [
    "BR",
    "CC",
    "CFT",
    "CLEMS",
    "COSTS",
    "CPLST",
    "CRITERIA",
    "ECC",
    "LEARNERS",
    "PCC",
    "PLST",
    "SLEEC",
    "CandidateSet",
    "Cost",
    "Criterion",
    "Embedding",
    "FaIE",
    "f_beta",
    "get_cost",
    "get_criterion",
    "load",
    "mirrored_smacof",
    "plot",
    "save",
    "weighted_hamming",
]

if TYPE_CHECKING:
    from clems import plot
    from clems.candidates import CandidateSet
    from clems.cost import Cost
    from clems.costs import COSTS, f_beta, get_cost, weighted_hamming
    from clems.criteria import CRITERIA, Criterion, get_criterion
    from clems.learners import BR, CC, CFT, CLEMS, CPLST, ECC, LEARNERS, PCC, PLST, SLEEC, FaIE
    from clems.persistence import load, save
    from clems.smacof import Embedding, mirrored_smacof
else:
    # Names are imported when they are asked for: the command's help and completion must not wait for scikit-learn.
    _MODULES = ("candidates", "cost", "costs", "criteria", "smacof", "learners", "persistence")

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "plot":
            return import_module(f"{__name__}.plot")
        for place in _MODULES:
            module = import_module(f"{__name__}.{place}")
            if hasattr(module, name):
                globals()[name] = getattr(module, name)
                return globals()[name]
        raise AttributeError(f"{name!r} is in none of {_MODULES}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
