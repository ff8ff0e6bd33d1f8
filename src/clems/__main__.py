"""`python -m clems` is the command `clems`."""

from clems.cli import main

main()
