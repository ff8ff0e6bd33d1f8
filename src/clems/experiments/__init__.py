"""Experiments: a declarative file, its plan, its trials, their records, and what they show."""
