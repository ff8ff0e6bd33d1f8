"""The command `clems`, which is also `python -m clems`."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the working directory, where any file could shadow a library

import atexit
import os

from clems.cli import process


def main() -> None:
    """Run the command; a signal ends it in an orderly way, also during imports."""
    os.environ["PYTHONSAFEPATH"] = "1"  # processes that it starts do not look into the working directory either
    process.open_streams()
    atexit.register(process.end_as_signalled)  # first, so that it is done last
    with process.signals_caught():
        try:
            from clems.cli.app import main as run
        except KeyboardInterrupt:
            process.say(f"{process.how_ended()}; nothing was started.")
            sys.exit(process.code_of_end())
        run()


if __name__ == "__main__":
    main()
