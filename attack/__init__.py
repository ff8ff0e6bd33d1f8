"""A campaign against the package: hostile files, odd input, signals at bad moments. `make attack` runs all of it."""
