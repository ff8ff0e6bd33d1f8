"""`python -m clems` is the command `clems`."""

from clems.cli import main

if __name__ == "__main__":
    main()
