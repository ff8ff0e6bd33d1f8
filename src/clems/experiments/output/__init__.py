"""Output: results as tables, figures and reports. Kinds are found in `KINDS`, files in `WRITERS`."""
