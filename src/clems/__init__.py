"""Cost-sensitive multi-label classification."""

TYPE_CHECKING = False  # as in typing, which is not imported so that `python -m clems` imports next to nothing at first

__version__ = "0.2.0"

# Where each public name is. It is imported when it is asked for: help and completion must not wait for scikit-learn.
_HOMES = {
    "BR": "learners",
    "BCS": "learners",
    "CCAOC": "learners",
    "GLE": "learners",
    "CSRPE": "learners",
    "LEML": "learners",
    "CS": "learners",
    "MOPLMS": "learners",
    "CSSP": "learners",
    "CCA": "learners",
    "C2AE": "learners",
    "CC": "learners",
    "CFT": "learners",
    "CLEMS": "learners",
    "COSTS": "costs",
    "CPLST": "learners",
    "CRITERIA": "costs",
    "ECC": "learners",
    "LEARNERS": "learners",
    "PCC": "learners",
    "PLST": "learners",
    "Pipeline": "learners.pipeline",
    "Posterior": "posterior",
    "SLEEC": "learners",
    "TableEncoder": "datasets",
    "CandidateSet": "embedding.candidates",
    "Cost": "costs",
    "CostSensitiveClassifier": "learners",
    "Criterion": "costs",
    "Embedding": "embedding.smacof",
    "FaIE": "learners",
    "GuaranteedCost": "learners.guaranteed_cost",
    "decide": "posterior",
    "f_beta": "costs",
    "get_cost": "costs",
    "get_criterion": "costs",
    "load": "persistence",
    "mirrored_smacof": "embedding.smacof",
    "ndcg_at": "costs",
    "plot": "evaluation",
    "precision_at": "costs",
    "propensities": "costs",
    "psp_at": "costs",
    "random_prices": "costs",
    "read_prices": "costs.text",
    "recall_at": "costs",
    "save": "persistence",
    "weighted_hamming": "costs",
}
__all__ = [*_HOMES]

if TYPE_CHECKING:
    from clems.costs import COSTS as COSTS
    from clems.costs import CRITERIA as CRITERIA
    from clems.costs import Cost as Cost
    from clems.costs import Criterion as Criterion
    from clems.costs import f_beta as f_beta
    from clems.costs import get_cost as get_cost
    from clems.costs import get_criterion as get_criterion
    from clems.costs import ndcg_at as ndcg_at
    from clems.costs import precision_at as precision_at
    from clems.costs import propensities as propensities
    from clems.costs import psp_at as psp_at
    from clems.costs import random_prices as random_prices
    from clems.costs import recall_at as recall_at
    from clems.costs import weighted_hamming as weighted_hamming
    from clems.costs.text import read_prices as read_prices
    from clems.datasets import TableEncoder as TableEncoder
    from clems.embedding.candidates import CandidateSet as CandidateSet
    from clems.embedding.smacof import Embedding as Embedding
    from clems.embedding.smacof import mirrored_smacof as mirrored_smacof
    from clems.evaluation import plot as plot
    from clems.learners import BCS as BCS
    from clems.learners import BR as BR
    from clems.learners import C2AE as C2AE
    from clems.learners import CC as CC
    from clems.learners import CCA as CCA
    from clems.learners import CCAOC as CCAOC
    from clems.learners import CFT as CFT
    from clems.learners import CLEMS as CLEMS
    from clems.learners import CPLST as CPLST
    from clems.learners import CS as CS
    from clems.learners import CSRPE as CSRPE
    from clems.learners import CSSP as CSSP
    from clems.learners import ECC as ECC
    from clems.learners import GLE as GLE
    from clems.learners import LEARNERS as LEARNERS
    from clems.learners import LEML as LEML
    from clems.learners import MOPLMS as MOPLMS
    from clems.learners import PCC as PCC
    from clems.learners import PLST as PLST
    from clems.learners import SLEEC as SLEEC
    from clems.learners import CostSensitiveClassifier as CostSensitiveClassifier
    from clems.learners import FaIE as FaIE
    from clems.learners.guaranteed_cost import GuaranteedCost as GuaranteedCost
    from clems.learners.pipeline import Pipeline as Pipeline
    from clems.persistence import load as load
    from clems.persistence import save as save
    from clems.posterior import Posterior as Posterior
    from clems.posterior import decide as decide
else:

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
