"""How well mathematics answers are judged, beside Math-Verify: on public suites, and on wrong answers by the thousand.

    python -m bench.verifier FOLDER            # counts by suite
    python -m bench.verifier FOLDER --show     # and every disagreement
    python -m bench.verifier FOLDER --keep     # into results/verifier.json and RESULTS.md

A suite is a file NAME.jsonl of lines {"gold": text, "answer": text, "right": true or false}: the answer is a whole
response, or what stands in its box. The tests of public graders are such pairs; they are theirs, and none is kept here.
Files may lie in folders, which are counted apart. A line may have "apart": a reason, one of those below, why its label
does not hold under our rules; it is counted by that reason, and in no other number.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError, DataError
from assay.verifiers.mathematics.against_gold import explain
from bench import machine
from bench.wrong_answers import pairs

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "bench" / "results" / "verifier.json"
WRONG, SEED = 3_000, 15
APART = {
    "decimals": "the suite rounds otherwise: to fewer than three significant digits, or a decimal gold at will",
    "contradiction": "the sides of the answer's chain of equations contradict one another",
    "label": "gold and answer are different mathematics, and the suite calls them equal",
    "words": "words of any kind stand behind the answer's number",
    "gold": "the gold cannot be read: its braces do not close",
}


@dataclass(frozen=True)
class Pair:
    suite: str
    gold: str
    answer: str
    right: bool
    apart: str = ""


def read_suites(folder: str | Path) -> list[Pair]:
    """All pairs below a folder; an error names file and line."""
    files = sorted(Path(folder).rglob("*.jsonl"))
    if not files:
        raise DataError(f'{folder} has no file NAME.jsonl of lines {{"gold", "answer", "right"}}.')
    found = []
    for file in files:
        suite = str(file.relative_to(folder).with_suffix(""))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            found.append(_pair(suite, line, f"{file}, line {number}"))
    return found


def _pair(suite: str, line: str, place: str) -> Pair:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place}: no JSON ({error}).") from None
    texts = isinstance(row, dict) and all(isinstance(row.get(name), str) for name in ("gold", "answer"))
    if not texts or not isinstance(row.get("right"), bool):
        raise DataError(
            f'{place}: expected {{"gold": text, "answer": text, "right": true or false}}, came {line[:80]}.'
        )
    apart = row.get("apart", "")
    if apart and apart not in APART:
        raise DataError(f"{place}: '{apart}' is no reason to count a pair apart; these are: {', '.join(APART)}.")
    return Pair(suite, row["gold"], row["answer"], row["right"], apart)


# --- verdicts -----------------------------------------------------------------------------------------------


def ours(found: Sequence[Pair]) -> list[bool]:
    return [one.verdict.status == "ok" for one in explain([(pair.gold, pair.answer) for pair in found])]


def theirs(found: Sequence[Pair]) -> list[bool]:
    """Math-Verify's, with its own defaults. A bare formula is put between dollars, where it looks for one; a bare
    number is left as it is, for which it looks too.
    """
    import logging

    from math_verify import parse, verify

    logging.disable(logging.CRITICAL)

    def marked(text: str) -> str:
        plain = re.search(r"(?<!\\)\$|\\boxed|\\\(|\\\[", text) or re.fullmatch(r"(?!.*, )[\d .,%/+-]*", text)
        return text if plain else f"${text}$"

    return [bool(verify(parse(marked(pair.gold)), parse(marked(pair.answer)))) for pair in found]


def counted(found: Sequence[Pair], accepted: Sequence[bool]) -> dict[str, int]:
    verdicts = list(zip(found, accepted, strict=True))
    return {
        "refused": sum(pair.right and not yes for pair, yes in verdicts),
        "accepted": sum(not pair.right and yes for pair, yes in verdicts),
    }


def measure(found: Sequence[Pair], *, wrong: int) -> dict[str, Any]:
    """Counts by suite: of right answers refused and of wrong ones accepted, by us and by Math-Verify."""
    mine, other = ours(found), theirs(found)
    suites = {}
    for name in dict.fromkeys(pair.suite for pair in found):
        held = [i for i, pair in enumerate(found) if pair.suite == name and not pair.apart]
        rows = [found[i] for i in held]
        suites[name] = {
            "right": sum(pair.right for pair in rows),
            "wrong": sum(not pair.right for pair in rows),
            "ours": counted(rows, [mine[i] for i in held]),
            "math_verify": counted(rows, [other[i] for i in held]),
            "apart": dict(Counter(pair.apart for pair in found if pair.suite == name and pair.apart)),
        }
    made = [Pair("made", one.gold, rf"\boxed{{{one.answer}}}", False) for one in pairs(wrong, SEED)]
    return {
        "measured": time.strftime("%Y-%m-%d"),
        "machine": machine.describe(),
        "suites": suites,
        "made": {"pairs": len(made), "seed": SEED, "accepted": sum(ours(made)), "math_verify": sum(theirs(made))},
    }


# --- tables -------------------------------------------------------------------------------------------------


def render(result: dict[str, Any]) -> str:
    """The section of RESULTS.md."""
    text = [
        "## Mathematics answers, beside Math-Verify",
        "",
        "`python -m bench.verifier FOLDER`: pairs of a gold and an answer from the tests of public graders. Pairs",
        "whose label does not hold under our rules are counted apart, by reason.",
        f"Measured {result['measured']} on {result['machine']['cores']} cores of {result['machine']['processor']}, "
        "without a GPU.",
        "",
        "| suite | right | refused: ours | Math-Verify | wrong | accepted: ours | Math-Verify | apart |",
        "|" + "---|" * 8,
    ]
    total = Counter[str]()
    for name, one in result["suites"].items():
        numbers = _numbers(one)
        total.update(numbers)
        text.append(_row(name, numbers, _reasons(one["apart"])))
    apart = sum((Counter(one["apart"]) for one in result["suites"].values()), Counter[str]())
    text.append(_row("**all**", total, _reasons(apart)))
    reasons = sorted(apart)
    text += ["", *(f"- apart, {reason}: {APART[reason]}" for reason in reasons)]
    made = result["made"]
    text += [
        f"- of {made['pairs']:,} wrong answers, golds crossed or spoiled by one change (seed {made['seed']}), "
        f"{made['accepted']} are accepted here, {made['math_verify']} by Math-Verify",
        "",
    ]
    return "\n".join(text) + "\n"


def _numbers(one: dict[str, Any]) -> dict[str, int]:
    return {
        "right": one["right"],
        "refused": one["ours"]["refused"],
        "their_refused": one["math_verify"]["refused"],
        "wrong": one["wrong"],
        "accepted": one["ours"]["accepted"],
        "their_accepted": one["math_verify"]["accepted"],
    }


def _reasons(apart: Mapping[str, int]) -> str:
    return ", ".join(f"{reason} {count}" for reason, count in sorted(apart.items()))


def _row(name: str, numbers: dict[str, int], apart: str) -> str:
    return "| " + " | ".join([name, *map(str, numbers.values()), apart or "-"]) + " |"


def section(folder: Path) -> str:
    """What was kept, for RESULTS.md."""
    kept = folder / KEPT.name
    return render(json.loads(kept.read_text())) if kept.exists() else ""


def _disagreements(found: Sequence[Pair]) -> list[str]:
    told = explain([(pair.gold, pair.answer) for pair in found])
    return [
        f"{pair.suite}: {'refused' if pair.right else 'accepted'}: {pair.gold!r} against {pair.answer[-200:]!r}: "
        f"{one.layer}: {one.why}{f' (apart: {pair.apart})' if pair.apart else ''}"
        for pair, one in zip(found, told, strict=True)
        if (one.verdict.status == "ok") != pair.right
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="of files NAME.jsonl")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.add_argument("--show", action="store_true", help="every disagreement of ours with a label")
    parser.add_argument("--keep", action="store_true", help="write results/verifier.json and RESULTS.md")
    parser.add_argument("--wrong", type=int, default=WRONG, help=f"wrong answers to make (default {WRONG})")
    options = parser.parse_args(arguments)
    try:
        found = read_suites(options.folder)
        result = measure(found, wrong=options.wrong)
    except AssayError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    if options.keep:
        from bench import rendering

        KEPT.write_text(json.dumps(result, indent=1) + "\n")
        rendering.render()
    told = _disagreements(found) if options.show else []
    if options.json:
        sys.stdout.write(json.dumps(result | ({"disagreements": told} if options.show else {})) + "\n")
    else:
        sys.stdout.write("\n".join([render(result), *told]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
