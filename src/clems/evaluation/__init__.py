"""What a model does on labelled rows: criteria, intervals, savings, rows to hand over, figures, the report."""

from clems.evaluation import plot
from clems.evaluation.abstention import abstention_curve
from clems.evaluation.bootstrap import Bootstrap, bootstrap
from clems.evaluation.evaluate import Evaluation, evaluate
from clems.evaluation.ranking import ranking_scores
from clems.evaluation.savings import Savings, savings

__all__ = [
    "Bootstrap",
    "Evaluation",
    "Savings",
    "abstention_curve",
    "bootstrap",
    "evaluate",
    "plot",
    "ranking_scores",
    "savings",
]
