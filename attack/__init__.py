"""Attacks on clems that stay: each one runs by itself and writes down what it found."""
