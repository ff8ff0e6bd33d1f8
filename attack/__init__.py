"""Campaigns that try to break the project: what stays of them, with their results."""
