"""Sketches of proofs in Coq: sentences that the prover refuses are masked by holes, and holes are closed one by one.

A sketch is a row of sentences. A hole is `admit.`, or `prove_with H1 H2.`, which names the hypotheses that it needs. A
block stands between braces; bullets are turned into blocks, because a bullet would demand one of every goal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

HOLE = "admit."
MOST_TRIALS = 100  # of a sketch that is masked
_WRITTEN = re.compile(r"\b(?:admit|prove_with((?:[ \t,]+[A-Za-z_][\w']*)+))[ \t]*\.(?=\s|$)")
_STANDING = "exact hole_{}."
_NUMBERED = re.compile(r"exact hole_(\d+)\.")
_BULLET = re.compile(r"[-+*]+")


class Told(NamedTuple):
    """What the prover says of a row of sentences: all is proved; it stands but for holes; goals are left without a
    hole; sentence `place`, counted from 0, is refused; or nothing can be said.
    """

    status: Literal["proved", "holes", "open", "refused", "nothing"]
    place: int = -1


Trial = Callable[[Sequence[str]], Told]


def sketched(text: str, preamble: str = "") -> list[str]:
    """The sentences of a sketch, with blocks in place of bullets. Raises Unreadable, as a proof does: but for its holes
    a sketch may say what a proof may.
    """
    from assay.verifiers.proofs.coq import sentences

    written: list[str] = []

    def standing(match: re.Match[str]) -> str:
        names = (match[1] or "").replace(",", " ").split()
        written.append(f"prove_with {' '.join(names)}." if names else HOLE)
        return _STANDING.format(len(written) - 1)

    row = sentences(_WRITTEN.sub(standing, text), preamble)
    holes = {_STANDING.format(number): hole for number, hole in enumerate(written)}
    return in_blocks([holes.get(sentence, sentence) for sentence in row])


def in_blocks(row: Sequence[str]) -> list[str]:
    """The sentences with a block for each bullet, and with all blocks closed; a brace that closes nothing is left out.

    in_blocks(["split.", "-", "exact a.", "-", "exact b."])  # split. { exact a. } { exact b. }
    """
    result: list[str] = []
    around: list[str] = []  # the braces and bullets that are open
    for sentence in row:
        if sentence == "}":
            if "{" in around:
                while around.pop() != "{":
                    result.append("}")
                result.append("}")
        elif _BULLET.fullmatch(sentence):
            inner = around[len(around) - around[::-1].index("{") :] if "{" in around else around
            if sentence in inner:
                while around.pop() != sentence:
                    result.append("}")
                result.append("}")
            around.append(sentence)
            result.append("{")
        else:
            around += ["{"] if sentence == "{" else []
            result.append(sentence)
    return result + ["}"] * len(around)


def is_hole(sentence: str) -> bool:
    """Whether the sentence says that a goal is proved elsewhere."""
    return sentence == HOLE or sentence.startswith("prove_with ")


def masked(row: Sequence[str], trial: Trial) -> list[str] | None:
    """The sketch without what the prover refuses, and with a hole for each goal that is left. None if the prover says
    nothing, or still refuses after 100 trials.
    """
    sketch = list(row)
    for _ in range(MOST_TRIALS):
        told = trial([HOLE if is_hole(sentence) else sentence for sentence in sketch])
        if told.status in ("proved", "holes"):
            return sketch
        if told.status == "nothing":
            return None
        sketch = without(sketch, told.place) if told.status == "refused" else [*sketch, HOLE]
    return None


def without(sketch: Sequence[str], place: int) -> list[str]:
    """The sketch without the sentence that is refused. Outside of blocks it goes with the blocks directly behind it.
    Within a block a hole takes its place, and the rest of the block goes too; a block that ends too early gets a hole.
    """
    before, sentence = list(sketch[:place]), sketch[place]
    if sentence == "}":
        return [*before, HOLE, *sketch[place:]]
    if sentence == "{":
        return [*before, *sketch[_end(sketch, place) + 1 :]]
    if before.count("{") == before.count("}"):
        rest = place + 1
        while rest < len(sketch) and sketch[rest] == "{" and not is_hole(sentence):
            rest = _end(sketch, rest) + 1
        return [*before, *sketch[rest:]]
    return [*before, *([] if is_hole(sentence) else [HOLE]), *sketch[_end(sketch, place) :]]


def _end(sketch: Sequence[str], place: int) -> int:
    """The place of the brace that closes the block which begins at `place`, or in which `place` is."""
    depth = 0 if sketch[place] == "{" else 1
    for at in range(place, len(sketch)):
        depth += (sketch[at] == "{") - (sketch[at] == "}")
        if depth == 0:
            return at
    raise ValueError("a block is not closed")


def closed(sketch: Sequence[str], trial: Trial, closers: Sequence[str]) -> list[str]:
    """The sketch with each hole closed by the first of these tactics that closes it; a hole that none closes stays. A
    hole with names is first tried with nothing but what it names.
    """
    pieces = [[sentence] for sentence in sketch]
    for number, sentence in enumerate(sketch):
        if not is_hole(sentence):
            continue
        for way in _ways(sentence, closers):
            parts = [*pieces[:number], way, *pieces[number + 1 :]]
            told = trial([HOLE if is_hole(one) else one for part in parts for one in part])
            if told.status in ("proved", "holes"):
                pieces[number] = way
                break
    return [one for piece in pieces for one in piece]


def _ways(hole: str, closers: Sequence[str]) -> list[list[str]]:
    names = hole.removesuffix(".").partition(" ")[2]
    alone = [[f"clear - {names}.", closer] for closer in closers] if names else []
    return [*alone, *([closer] for closer in closers)]


def before_hole(sketch: Sequence[str]) -> list[str]:
    """The sentences before the first hole."""
    return list(sketch[: next((at for at, sentence in enumerate(sketch) if is_hole(sentence)), len(sketch))])
