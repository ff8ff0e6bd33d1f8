"""A table as LaTeX."""

from __future__ import annotations

from clems.experiments.output.table import Table

LATEX = {
    "\\": r"\textbackslash{}",
    **{mark: "\\" + mark for mark in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "−": "$-$",
    "≈": r"$\approx$",
    "†": r"$\dagger$",
    "χ": r"$\chi$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "α": r"$\alpha$",
    "…": r"\ldots{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def to_latex(table: Table) -> str:
    """Write a table as LaTeX, for the package booktabs."""
    columns = "l" * len(table.heads) + "r" * len(table.headings)
    head = " & ".join(map(_in_latex, [*table.heads, *table.headings.values()]))
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_in_latex(table.title)}}}",
        rf"\begin{{tabular}}{{{columns}}}",
    ]
    lines += [r"\toprule", head + r" \\", r"\midrule"]
    dataset = ""
    for heads, cells in table.lines:
        if dataset and heads[0] and heads[0] != dataset:
            lines.append(r"\addlinespace")
        dataset = heads[0] or dataset
        written = [rf"\textbf{{{_in_latex(text)}}}" if bold else _in_latex(text) for text, bold in cells]
        lines.append(" & ".join([*map(_in_latex, heads), *written]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    said = [*table.legend, *table.missing, *table.footnotes]
    lines += [rf"\par\smallskip\footnotesize {_in_latex(sentence)}" for sentence in said]
    return "\n".join([*lines, r"\end{table}", ""])


def _in_latex(text: str) -> str:
    return "".join(LATEX.get(mark, mark) for mark in " ".join(text.split()))
