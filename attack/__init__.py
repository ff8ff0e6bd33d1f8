"""Attacks on the library that stay: generated and fuzzed input with oracles that can be trusted."""
