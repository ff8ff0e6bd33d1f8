"""Experiments: plan, run, choose and report."""
