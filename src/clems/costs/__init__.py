"""What a mistake costs: counts, costs, criteria, and costs as text.

Examples
--------
Costs of single rows, criteria that sum up predictions, each by its name:

>>> import numpy as np
>>> from clems import COSTS, CRITERIA
>>> Y, P = np.array([[1, 1, 0], [0, 0, 1]]), np.array([[1, 0, 0], [0, 0, 1]])
>>> COSTS["hamming"].rowwise(Y, P).round(2).tolist()
[0.33, 0.0]
>>> round(float(CRITERIA["f1"](Y, P)), 2)
0.83
"""

from clems.costs.at_k import ndcg_at, precision_at, propensities, psp_at, recall_at
from clems.costs.cost import Cost
from clems.costs.criteria import CRITERIA, Criterion, get_criterion
from clems.costs.formulas import COSTS, f_beta, get_cost, weighted_hamming
from clems.costs.random_prices import random_prices

__all__ = [
    "COSTS",
    "CRITERIA",
    "Cost",
    "Criterion",
    "f_beta",
    "get_cost",
    "get_criterion",
    "ndcg_at",
    "precision_at",
    "propensities",
    "psp_at",
    "random_prices",
    "recall_at",
    "weighted_hamming",
]
