"""`sharpen-discover`: one word for a pair, with what the base reaches when it is given as many tries more."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assay.lab.analyses.measure import Lacking, Measure, Reading, Sheet
from assay.scoring.bank_reports import concluded_json
from assay.scoring.conclusion import Conclusion
from assay.scoring.discovery import Boundary, sharpen_or_discover

if TYPE_CHECKING:
    from assay.lab.analyses.pair import Pair

MEASURED = "no verdict: the base would have to be asked for more samples than its bank has, and a tail is a guess"


def take(pair: Pair) -> Reading:
    base, child = pair.counts
    n = min(base.samples // 2, child.samples)
    if n < 2:
        raise Lacking(
            f"n samples of the child and 2 n of the base are compared, n 2 at least: the base has {base.samples}."
        )
    boundary = sharpen_or_discover(base, child, n=n)
    while boundary.extrapolated and n > 2:  # fewer samples of the child ask for fewer of the base
        n //= 2
        boundary = sharpen_or_discover(base, child, n=n)
    word = "undetermined" if boundary.extrapolated else boundary.word
    return Reading(
        says=f"{word.capitalize()}: {MEASURED if boundary.extrapolated else boundary.reason}.",
        figures=_figures(boundary) | {"word": word},
        tables=(_conditions(boundary),),
        beware=(
            f"The base is given {boundary.times.mean:.2g} times as many samples as the child: so many of its samples "
            "one of the child is worth at pass@1. The word is about two checkpoints, and says nothing of methods.",
        ),
    )


def _figures(found: Boundary) -> dict[str, object]:
    told = {name: getattr(found, name) for name in ("n", "blind_below", "zero_problems", "gain_share", "extrapolated")}
    conclusions = {name: getattr(found, name) for name in ("first", "reach", "zero")}
    return told | {
        "times": dataclasses.asdict(found.times),
        **{name: None if one is None else concluded_json(one) for name, one in conclusions.items()},
    }


def _conditions(found: Boundary) -> Sheet:
    asked: tuple[tuple[str, Conclusion | None], ...] = (
        ("pass@1 rose", found.first),
        ("beyond the base with as many tries more", found.reach),
        ("on problems that the base does not solve", found.zero),
    )
    rows = tuple(
        (name, *(("too few problems", None) if one is None else (one.numbers, one.word))) for name, one in asked
    )
    return Sheet(f"Conditions, with {found.n} samples of the child", ("condition", "difference", "word"), rows)


SHARPEN_DISCOVER = Measure(
    name="sharpen-discover",
    title="Sharpening or discovery",
    paper="",
    asks="did training make likelier what the base could do, or teach what it could not?",
    needs=("banks",),
    take=take,
)
