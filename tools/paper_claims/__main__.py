"""What the paper claims, beside what came out: the pictures and numbers of docs/paper.md.

``python -m tools.paper_claims`` (``make claims``) reads records, draws a picture for each claim into docs/figures, and
writes the numbers into docs/paper.md, between comments. The words around them are written by hand. An experiment of
the paper counts from ``results/NAME``; where no dataset has enough repetitions there yet, from
``results/earlier/NAME``, and the page says so. With ``--measure`` Theorem 1's bound is measured first, which needs
CLEMS_DATA and takes about a minute.
"""

from __future__ import annotations

import argparse

from tools.paper_claims import CLAIMS
from tools.paper_claims.bound import write_bound
from tools.paper_claims.drawing import save, use_style
from tools.paper_claims.page import FIGURES, PAGE, renewed


def main() -> None:
    """Measure if asked to, then draw and write all claims."""
    parser = argparse.ArgumentParser("python -m tools.paper_claims", description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="measure Theorem 1's bound first; needs CLEMS_DATA")
    if parser.parse_args().measure:
        write_bound()
    use_style()
    page = PAGE.read_text()
    for name, make in CLAIMS.items():
        claim = make()
        if claim.figure is not None:
            save(claim.figure, FIGURES / f"paper-{name}.svg")
        page = renewed(page, name, claim.text(name))
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
