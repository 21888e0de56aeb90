"""Sums and products of matrices that an answer leaves to be worked out, such as one half of a matrix."""

from __future__ import annotations

import re

from assay.verifiers.mathematics.structure import split

MOST_FACTORS = 4
MOST_ENTRIES = 64
LONGEST_ENTRY = 1_000

Rows = tuple[tuple[str, ...], ...]

MATRIX = re.compile(
    r"(?:[\[(]\s*)?\\begin\s*\{(?P<kind>[bp]?(?:small)?matrix|array)\}(?:\s*\{[clr|@{}. ]*\})?"
    r"(?P<body>(?:(?!\\begin|\\end).)*)\\end\s*\{(?P=kind)\}(?:\s*[\])])?",
    re.DOTALL,
)
_PLACEHOLDER = re.compile("[\ue000-\uf8ff]")
_SIGN = re.compile(r"[+-]")
_TIMES = re.compile(r"\\cdot(?![a-zA-Z])|\\times(?![a-zA-Z])|\*")


def rows_of(body: str) -> Rows:
    """The entries between the marks of a matrix."""
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?|\\cr(?![a-zA-Z])", body) if row.strip()]
    return tuple(tuple(cell.strip().rstrip(",") for cell in row.split("&")) for row in rows)


def worked_out(text: str) -> Rows | None:
    """The entries of a sum of products of matrices, each perhaps with a number before it; None for other texts."""
    if _PLACEHOLDER.search(text):
        return None
    matrices: list[Rows] = []

    def hold(match: re.Match[str]) -> str:
        matrices.append(rows_of(match["body"]))
        return chr(0xE000 + len(matrices) - 1)

    held = MATRIX.sub(hold, text)
    if not 1 <= len(matrices) <= MOST_FACTORS or "|" in held:
        return None
    terms, signs = split(held, _SIGN)
    if terms and not terms[0]:
        terms = terms[1:]
    else:
        signs = ["+", *signs]
    total: Rows | None = None
    for sign, term in zip(signs, terms, strict=True):
        rows = _product(term, matrices)
        if rows is None or not _even(rows):
            return None
        signed = rows if sign == "+" else tuple(tuple(f"-({cell})" for cell in row) for row in rows)
        total = signed if total is None else _sum(total, signed)
        if total is None:
            return None
    return total if total and all(len(cell) <= LONGEST_ENTRY for row in total for cell in row) else None


def _product(term: str, matrices: list[Rows]) -> Rows | None:
    """The product of a term's matrices, times the expression before them."""
    factors = _PLACEHOLDER.findall(term)
    scalar, *between = _PLACEHOLDER.split(_TIMES.sub(" ", term))
    if not factors or any(gap.strip() for gap in between):
        return None
    total = matrices[ord(factors[0]) - 0xE000]
    for factor in factors[1:]:
        right = matrices[ord(factor) - 0xE000]
        if not _even(total) or not _even(right) or len(total[0]) != len(right):
            return None
        columns = list(zip(*right, strict=True))
        total = tuple(
            tuple("+".join(f"({a})({b})" for a, b in zip(row, column, strict=True)) for column in columns)
            for row in total
        )
    scalar = scalar.strip()
    return tuple(tuple(f"({scalar})({cell})" for cell in row) for row in total) if scalar else total


def _even(rows: Rows) -> bool:
    return bool(rows) and len({len(row) for row in rows}) == 1 and sum(map(len, rows)) <= MOST_ENTRIES


def _sum(one: Rows, other: Rows) -> Rows | None:
    if [len(row) for row in one] != [len(row) for row in other]:
        return None
    return tuple(
        tuple(f"({a})+({b})" for a, b in zip(left, right, strict=True)) for left, right in zip(one, other, strict=True)
    )
