"""Small theorems in Coq with tactics that are right by construction, and mutants whose truth `coqc` itself decides.

Each theorem has a proof by hand, with propositions put for its letters. Names of hypotheses are changed and steps that
do nothing are added, which keeps a proof right. Sentences are dropped, doubled, turned or changed: if `coqc` compiles
the statement with exactly these tactics between `Proof.` and `Qed.`, the proof is right, else it is wrong.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from assay.verifiers.audit import Labelled

THEOREMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("P -> P", ("intros h.", "exact h.")),
    ("P -> Q -> P", ("intros h k.", "exact h.")),
    ("P /\\ Q -> Q /\\ P", ("intros h.", "destruct h as [k l].", "split.", "exact l.", "exact k.")),
    ("P \\/ Q -> Q \\/ P", ("intros h.", "destruct h as [k|l].", "right.", "exact k.", "left.", "exact l.")),
    ("(P -> Q) -> (Q -> R) -> P -> R", ("intros h k l.", "apply k.", "apply h.", "exact l.")),
    ("(P -> Q -> R) -> P /\\ Q -> R", ("intros h k.", "destruct k as [l m].", "apply h.", "exact l.", "exact m.")),
    ("(P /\\ Q -> R) -> P -> Q -> R", ("intros h k l.", "apply h.", "split.", "exact k.", "exact l.")),
    ("P -> ~ ~ P", ("intros h k.", "apply k.", "exact h.")),
    ("(P -> Q) -> ~ Q -> ~ P", ("intros h k l.", "apply k.", "apply h.", "exact l.")),
    ("False -> P", ("intros h.", "destruct h.")),
    ("P /\\ ~ P -> Q", ("intros h.", "destruct h as [k l].", "exfalso.", "apply l.", "exact k.")),
)
PUT = ("P", "Q", "R", "(P /\\ R)", "(Q -> P)", "(R \\/ Q)", "~ R")
TACTICS = (
    "split.",
    "left.",
    "right.",
    "assumption.",
    "exfalso.",
    "tauto.",
    "auto.",
    "exact h.",
    "apply h.",
    "trivial.",
)
TRICKS = ("admit.", "Admitted.", "Abort.", "Axiom cheat : False. destruct cheat.", "give_up.", "idtac.", "", "exact I")
NAMES: tuple[str, ...] = ("h", "k", "l", "m")


def compiles(statement: str, tactics: str) -> bool:
    """Whether `coqc` compiles the theorem with this proof."""
    program = shutil.which("coqc")
    if program is None:
        raise FileNotFoundError("expected the program coqc, which says which changed proofs are right; install coq")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.v"
        path.write_text(f"Theorem job : {statement}.\nProof.\n{tactics}\nQed.\n")
        return subprocess.run([program, "-q", str(path)], capture_output=True, timeout=60).returncode == 0


def _stated(d: random.Random) -> tuple[str, list[str]]:
    """(a statement, its proof): formulas stand for the letters of a theorem, and other names for its hypotheses."""
    formula, proof = d.choice(THEOREMS)
    put = {letter: d.choice(PUT) for letter in "PQR"}
    names: dict[str, str] = dict(zip(NAMES, d.sample([*NAMES, "a", "b", "c", "u", "v"], len(NAMES)), strict=True))
    said = "".join(put.get(c, c) if c in "PQR" else c for c in formula.replace("False", "0")).replace("0", "False")
    steps = [re.sub(r"\b[hklm]\b", lambda found: names[found[0]], step) for step in proof]
    return f"forall P Q R : Prop, {said}", ["intros P Q R.", *steps]


def coq(count: int, seed: int) -> Iterator[Labelled]:
    """Proofs as they stand or with what changes nothing, changed in a sentence, or with what no proof may say."""
    d = random.Random(f"coq {seed}")
    made = 0
    while made < count:
        statement, steps = _stated(d)
        at, way = d.randrange(1, len(steps)), made % 5
        before, after = steps[:at], steps[at + 1 :]
        if way in (0, 1):
            ways = {
                "lines": "\n".join(steps),
                "one line": " ".join(steps),
                "with marks": "\n".join(["Proof.", *steps, "Qed."]),
                "in a fence": "\n".join(["So it is:", "```coq", *steps, "```"]),
                "a cut more": "\n".join([steps[0], "assert (fact : True).", "{ exact I. }", *steps[1:]]),
                "a name cleared": "\n".join([steps[0], "pose (fact := I).", "clear fact.", *steps[1:]]),
            }
        elif way == 4:
            trick = d.choice(TRICKS)
            ways = {f"trick: {trick[:12] or 'nothing'}": "\n".join([*before, trick] if trick else [])}
        else:
            turned = [*steps[: at - 1], steps[at], steps[at - 1], *after]
            ways = {
                "a sentence dropped": "\n".join([*before, *after]),
                "a sentence twice": "\n".join([*before, steps[at], steps[at], *after]),
                "another sentence": "\n".join([*before, d.choice(TACTICS), *after]),
                "a sentence more": "\n".join([*before, d.choice(TACTICS), steps[at], *after]),
                "sentences turned": "\n".join(turned),
                "the beginning": "\n".join(before),
            }
        name = d.choice(list(ways))
        label = compiles(statement, ways[name]) if way in (2, 3) else way in (0, 1)
        made += 1
        yield Labelled(statement, ways[name], label, name, origin=("drawn", "drawn", "mutant", "mutant", "trick")[way])
