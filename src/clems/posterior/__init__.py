"""Posteriors, distributions over label vectors, and where they come from."""

from clems.posterior import distances, leaves, neighbours  # which enter themselves in SOURCES
from clems.posterior.deciding import decide
from clems.posterior.distribution import Posterior
from clems.posterior.independent import IndependentPosterior

__all__ = ["IndependentPosterior", "Posterior", "decide", "distances", "leaves", "neighbours"]
