"""Cost-sensitive multi-label classification."""

from clems.candidates import CandidateSet
from clems.cost import Cost
from clems.costs import COSTS, f_beta, get_cost, weighted_hamming
from clems.criteria import CRITERIA, Criterion, get_criterion
from clems.learners import BR, CC, CFT, CLEMS, CPLST, ECC, LEARNERS, PCC, PLST, SLEEC, FaIE
from clems.persistence import load, save
from clems.smacof import Embedding, mirrored_smacof

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
    "save",
    "weighted_hamming",
]
