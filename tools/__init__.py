"""Tools for whoever changes the package."""
