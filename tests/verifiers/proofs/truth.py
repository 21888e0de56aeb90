"""Whether formulas follow from others, by truth tables over the five variables: nothing of the prover is used."""

from __future__ import annotations

from collections.abc import Sequence

_ROWS = 32
_ALL = (1 << _ROWS) - 1


class Table:
    """A column of a truth table, with the connectives as Python's operators of the same look."""

    def __init__(self, rows: int) -> None:
        self.rows = rows & _ALL

    def __invert__(self) -> Table:
        return Table(~self.rows)

    def __and__(self, other: Table) -> Table:
        return Table(self.rows & other.rows)

    def __or__(self, other: Table) -> Table:
        return Table(self.rows | other.rows)

    def __gt__(self, other: Table) -> Table:
        return Table(~self.rows | other.rows)


_VARIABLES = {
    name: Table(sum(1 << row for row in range(_ROWS) if row >> place & 1)) for place, name in enumerate("pqrst")
}


def table(formula: str) -> Table:
    found = eval(formula.replace("v", "|").replace(" ", ""), {"__builtins__": {}}, dict(_VARIABLES))
    assert isinstance(found, Table)
    return found


def follows(hypotheses: Sequence[str], goal: str) -> bool:
    rows = _ALL
    for hypothesis in hypotheses:
        rows &= table(hypothesis).rows
    return rows & ~table(goal).rows == 0
