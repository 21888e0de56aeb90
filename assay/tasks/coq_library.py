"""Small theorems in Coq with the standard library: linear arithmetic by `lia`, lists, and induction over both.

Arith, Lia and List are loaded before a theorem. The numbers of a statement are drawn so that it is true; the level says
what a proof needs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.externals.coq import SECONDS
from assay.tasks import coq
from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings

PREAMBLE = "library"
Drawn = tuple[str, list[str]]  # a statement, and the tactics of a proof
_OVER_N = ["intro n.", "induction n as [|n IH].", "reflexivity.", "simpl.", "lia."]
_OVER_LISTS = ["intro l.", "induction l as [|x l IH].", "reflexivity.", "simpl.", "lia."]


def _instance(generator: np.random.Generator, level: int) -> Spec:
    statement, witness = _KINDS[level](generator)
    return {"statement": statement, "preamble": PREAMBLE, "witness": witness}


def _below(generator: np.random.Generator, most: int, least: int = 0) -> int:
    return int(generator.integers(least, most + 1))


def _inequality(generator: np.random.Generator) -> Drawn:
    """n + a <= m -> b*n + c <= b*m + d with c <= a b + d."""
    added, factor, more = _below(generator, 9), _below(generator, 4, 1), _below(generator, 9)
    less = _below(generator, added * factor + more)
    times = f"{factor}*" if factor > 1 else ""
    return f"forall n m:nat, n+{added}<=m -> {times}n+{less}<={times}m+{more}", ["intros n m H.", "lia."]


def _difference(generator: np.random.Generator) -> Drawn:
    """n + a <= m -> some k is m - n - b, where b <= a."""
    added = _below(generator, 30, 1)
    taken = _below(generator, added, 1)
    statement = f"forall n m:nat, n+{added}<=m -> exists k:nat, m=n+k+{taken}"
    return statement, ["intros n m H.", f"exists (m-n-{taken}).", "lia."]


def _lengths(generator: np.random.Generator) -> Drawn:
    """Of two lists put together, of which one went through a function."""
    first, second, total = _below(generator, 9, 1), _below(generator, 9), _below(generator, 30, 1)
    added = _below(generator, total)
    mapped = f"map (fun x=>{first}*x+{second}) k" if second else f"map (fun x=>{first}*x) k"
    statement = f"forall l k:list nat, length (l++{mapped})+{total}=length k+{added}+length l+{total - added}"
    return statement, ["intros l k.", "rewrite app_length.", "rewrite map_length.", "lia."]


def _repeated(generator: np.random.Generator) -> Drawn:
    """A fold over a list of n equal numbers."""
    number, added, start = _below(generator, 9), _below(generator, 9), _below(generator, 20)
    each = number + added
    statement = f"forall n:nat, fold_right (fun x s=>x+{added}+s) {start} (repeat {number} n)={each}*n+{start}"
    return statement, _OVER_N


def _folded(generator: np.random.Generator) -> Drawn:
    """A fold over any list, beside the sum and the length of the list."""
    added, start = _below(generator, 9, 1), _below(generator, 20)
    own = _below(generator, start)
    right = f"fold_right plus {own} l+{added}*length l+{start - own}"
    return f"forall l:list nat, fold_right (fun x s=>x+{added}+s) {start} l={right}", _OVER_LISTS


_KINDS: dict[int, Callable[[np.random.Generator], Drawn]] = {
    1: _inequality,
    2: _difference,
    3: _lengths,
    4: _repeated,
    5: _folded,
}


def _compact(spec: Spec) -> str:
    return f"Lib {spec['statement'].removeprefix('forall ').replace(':nat', '')}"


def natural(spec: Spec) -> str:
    """The question of the task `coq`, with what is loaded here."""
    return coq.COQ.wordings.natural(spec).replace(
        "with the standard prelude only", "with Arith, Lia and List of the standard library, which are imported"
    )


def _solve(spec: Spec) -> Solution:
    return Solution(" ".join(spec["witness"]))


COQ_LIBRARY = Task(
    name="coq-library",
    domain="proofs",
    summary=(
        "Prove a small theorem in Coq with Arith, Lia and List; levels 1 and 2 by linear arithmetic, 3 by lemmas on "
        "lists, 4 and 5 by induction over numbers and lists."
    ),
    generator=Generator(levels=range(1, 6), instance=_instance, canonical=lambda spec: spec["statement"]),
    wordings=Wordings(compact=_compact, natural=natural, solve=_solve),
    checker=Checker(
        check=coq.check,
        verify_many=coq.verify_all,
        second=coq.judge_strictly,
        externals=("coq",),
        seconds=SECONDS,
    ),
    abilities=(OwnBase("proofs in Coq by linear arithmetic", levels=(1, 2), num_steps=60, context=224, hidden=160),),
)
