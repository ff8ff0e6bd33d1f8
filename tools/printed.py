"""Run the blocks of pages that are marked to run, and write anew what they print.

Usage: python -m tools.printed README.md docs/start.md
"""

from __future__ import annotations

import argparse
import re
import tempfile
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

RUNS = re.compile(r"<!-- runs -->\n```python\n(.*?)```\n(?:\n<!-- prints -->\n```text\n(.*?)```)?", re.DOTALL)


def printed_anew(page: str) -> str:
    """Run the blocks of a page, one after the other in a folder of their own; return it with what they printed."""
    names: dict[str, object] = {"__name__": "shown"}

    def replace(found: re.Match[str]) -> str:
        with redirect_stdout(StringIO()) as printed:
            exec(found[1], names)
        return found[0] if found[2] is None else found[0].replace(found[2], f"{printed.getvalue().strip()}\n")

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        return RUNS.sub(replace, page)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    for page in parser.parse_args().pages:
        text = page.read_text()
        if (new := printed_anew(text)) != text:
            page.write_text(new)
            print(f"{page} is written anew")


if __name__ == "__main__":
    main()
