"""The command `clems`, which is also `python -m clems`."""

import sys


def main() -> None:
    """Run the command; Ctrl-C ends it in order, also while it is still being imported."""
    try:
        from clems.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; nothing was begun.\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
