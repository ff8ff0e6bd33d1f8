"""Learners: one file per algorithm, and `LEARNERS`, the registry that everything else iterates over."""

from clems.classifier import MultiLabelClassifier
from clems.learners.br import BR
from clems.learners.cc import CC
from clems.learners.cft import CFT
from clems.learners.clems import CLEMS
from clems.learners.ecc import ECC
from clems.learners.pcc import PCC
from clems.learners.sleec import SLEEC

LEARNERS: dict[str, type[MultiLabelClassifier]] = {
    "br": BR,
    "cc": CC,
    "cft": CFT,
    "clems": CLEMS,
    "ecc": ECC,
    "pcc": PCC,
    "sleec": SLEEC,
}

__all__ = ["BR", "CC", "CFT", "CLEMS", "ECC", "LEARNERS", "PCC", "SLEEC"]
