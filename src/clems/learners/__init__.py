"""Learners: one file per algorithm, and `LEARNERS`, the registry that everything else iterates over."""

from clems.learners.base import MultiLabelClassifier
from clems.learners.br import BR
from clems.learners.cc import CC
from clems.learners.cca import CCA
from clems.learners.cft import CFT
from clems.learners.clems import CLEMS
from clems.learners.cost_sensitive import CostSensitiveClassifier
from clems.learners.cplst import CPLST
from clems.learners.ecc import ECC
from clems.learners.faie import FaIE
from clems.learners.pcc import PCC
from clems.learners.plst import PLST
from clems.learners.sleec import SLEEC

LEARNERS: dict[str, type[MultiLabelClassifier]] = {
    "br": BR,
    "cc": CC,
    "cca": CCA,
    "cft": CFT,
    "clems": CLEMS,
    "cost_sensitive": CostSensitiveClassifier,
    "cplst": CPLST,
    "ecc": ECC,
    "faie": FaIE,
    "pcc": PCC,
    "plst": PLST,
    "sleec": SLEEC,
}

__all__ = [
    "BR",
    "CC",
    "CCA",
    "CFT",
    "CLEMS",
    "CPLST",
    "ECC",
    "LEARNERS",
    "PCC",
    "PLST",
    "SLEEC",
    "CostSensitiveClassifier",
    "FaIE",
]
