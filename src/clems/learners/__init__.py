"""Learners: one file per algorithm, and `LEARNERS`, the registry that everything else iterates over.

Examples
--------
>>> from clems import LEARNERS
>>> LEARNERS["pcc"].__name__
'PCC'
>>> [name for name, learner in LEARNERS.items() if learner.cost_at_fit]
['cft', 'clems', 'cost_sensitive', 'csrpe']
"""

from clems.learners.base import MultiLabelClassifier
from clems.learners.bcs import BCS
from clems.learners.br import BR
from clems.learners.c2ae import C2AE
from clems.learners.cc import CC
from clems.learners.cca import CCA
from clems.learners.ccaoc import CCAOC
from clems.learners.cft import CFT
from clems.learners.clems import CLEMS
from clems.learners.cost_sensitive import CostSensitiveClassifier
from clems.learners.cplst import CPLST
from clems.learners.cs import CS
from clems.learners.csrpe import CSRPE
from clems.learners.cssp import CSSP
from clems.learners.ecc import ECC
from clems.learners.faie import FaIE
from clems.learners.gle import GLE
from clems.learners.leml import LEML
from clems.learners.moplms import MOPLMS
from clems.learners.pcc import PCC
from clems.learners.plst import PLST
from clems.learners.sleec import SLEEC

LEARNERS: dict[str, type[MultiLabelClassifier]] = {
    "bcs": BCS,
    "br": BR,
    "c2ae": C2AE,
    "cc": CC,
    "cca": CCA,
    "ccaoc": CCAOC,
    "cft": CFT,
    "clems": CLEMS,
    "cost_sensitive": CostSensitiveClassifier,
    "cplst": CPLST,
    "cs": CS,
    "csrpe": CSRPE,
    "cssp": CSSP,
    "ecc": ECC,
    "faie": FaIE,
    "gle": GLE,
    "leml": LEML,
    "moplms": MOPLMS,
    "pcc": PCC,
    "plst": PLST,
    "sleec": SLEEC,
}

__all__ = [
    "BCS",
    "BR",
    "C2AE",
    "CC",
    "CCA",
    "CCAOC",
    "CFT",
    "CLEMS",
    "CPLST",
    "CS",
    "CSRPE",
    "CSSP",
    "ECC",
    "GLE",
    "LEARNERS",
    "LEML",
    "MOPLMS",
    "PCC",
    "PLST",
    "SLEEC",
    "CostSensitiveClassifier",
    "FaIE",
]
