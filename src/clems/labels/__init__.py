"""Label matrices, label sets and their names."""
