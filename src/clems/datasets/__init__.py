"""Datasets."""

from clems.datasets.digits import digit_scenes

__all__ = ["digit_scenes"]
