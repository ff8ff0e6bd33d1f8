"""Candidates, and the points that label vectors are embedded at."""
