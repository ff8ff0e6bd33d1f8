"""Text of data files: where it comes from, the numbers and the cells in it."""
