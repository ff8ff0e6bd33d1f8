"""What a mistake costs: counts, costs, criteria, and costs as text."""

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
