"""The studies of this folder: what is done of each, and their reports.

python -m bench.studies            # lists them, with what is missing
python -m bench.studies --render   # writes each report.md, and README.md, from the results that are there
assay compare --study bench/studies/cure.toml   # runs what is missing of one
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay.known import RECIPES
from assay.lab.seeds import as_dict
from assay.lab.study import Study, analysis, contrasts, guesses, markdown, queue, read
from assay.lab.study.analysis import Findings
from assay.lab.study.results import Result
from assay.run.bases import BASES
from assay.run.pretrained import PRETRAINED
from assay.run.trust import Trust
from assay.scoring.conclusion import Family, Stated, conclude
from assay.view.text import ABSENT, chance, change

HERE = Path(__file__).parent
INDEX = HERE / "README.md"
ATTEMPTS = HERE / "attempts" / "README.md"  # what was declared of earlier test beds, and what became of it
HEAD = """# Studies

Each study is a file, run by `assay compare --study bench/studies/NAME.toml`, which goes on from the results beside it.
`python -m bench.studies --render` writes this page and the reports.

**What changed on 2026-11-26.** The same results are read by [another rule](../../docs/claims.md#verdicts). Before,
a word was given from two seeds on, Holm's correction let 7 to 18 % of families of two and three seeds hold a false
one, and an interval that was not corrected stood beside a p that was. Of the 363 differences from a first arm 14
were *higher*, 83 *lower*, 14 *equal* and 232 *undecided*; now 346 have NOT ENOUGH SEEDS, 2 are BETTER, 5 WORSE and
8 UNDECIDED, and 2 cannot be compared. Of the twelve declared contrasts 5 were *as expected*, 2 *the opposite* and
5 *undecided*; now 3 are SUPPORTED, 4 REFUTED (2 the opposite), 4 UNDECIDED, and 1 has NO EVIDENCE: a blind guesser
does as well. Reports say whose learning rates the arms have (of 45 studies it was said that they were the
recipes', and the study set them), what else differs between the arms of a contrast, and what became of pass@k
beside the base.

| study | runs | what it says |
|---|---:|---|"""

BEDS, REAL = "Contrasts on the test beds", "Contrasts on a real language model"  # the headings of CONTRASTS
CONTRASTS = """
## {heading}

Written down with their direction and their smallest effect, and committed, before the first run. Each is decided in the
family of its study, which its report names. SUPPORTED is a difference that is surely larger than what was said, REFUTED
one that is surely smaller.

| claim | on | what should differ | difference | p | verdict |
|---|---|---|---:|---:|---|"""

CROSSING = """
## What becomes of pass@k

The base beside what was trained from it, at one sample and at the most. Where pass@k rises at one and falls at many,
the curves cross: what is likely became likelier, and what is rare was lost. Intervals hold together within a study.
The seeds are those of training: all began from one base, so nothing is said of others.

The last two columns are words about the checkpoints of these seeds, over problems: they say nothing of a method, and
they are what three seeds of one base allow. Where the base or the arm is no better than a blind guesser, pass@k is no
evidence.

| study | task | method | base | change at 1 | change at the most | checkpoints at 1 | at the most |
|---|---|---|---|---:|---:|---|---|"""
CROSSED = ("ten",)  # studies whose exams have many samples of each problem, and arms that learn otherwise

AGAIN = """
## Experiments again on the test beds

What the mechanism of a method should move, on the small task of its first experiment and on a test bed, where answers
have room for reasoning.

| experiment | what should differ | at first | on a test bed |
|---|---|---|---|"""
BED = "bed-"  # before the name of a study that asks again what the study of this name asked


def names() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.toml"))


def study(name: str) -> Study:
    return read(HERE / f"{name}.toml", Trust.of(code=True))  # what studies here use was written here


@contextmanager
def alone() -> Iterator[None]:
    """Behind the block recipes and bases are those of before it: files of studies register some, and a base of one
    study may have the name of another one's.
    """
    tables: list[dict[str, Any]] = [RECIPES, BASES.held]
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, own in zip(tables, before, strict=True):
            table.clear()
            table.update(own)


def found(name: str, of: Study, *, guess: bool = False) -> Findings:
    """The findings of the results that are there, beside a blind guesser; `guess` makes what is missing of it."""
    guessed = (guesses.made if guess else guesses.known)(of, HERE / name)
    return analysis.analyse(of, queue.stored(of, HERE / name), guessed)


def index(of: dict[str, Findings]) -> str:
    lines = [HEAD]
    for name, findings in of.items():
        done = len(findings.results)
        said = findings.conclusion if len(findings.study.arms) <= 8 else "see its report"
        lines.append(f"| [{name}]({name}/report.md) | {done} of {done + findings.missing} | {said} |")
    return "\n".join(lines) + "\n"


def declared(of: dict[str, Findings], heading: str) -> str:
    """What was declared of these studies before anything ran, with what became of each."""
    asked = [(name, one) for name, findings in of.items() for one in findings.study.expected if one.least]
    found = {(name, one.expected, one.task): one for name, findings in of.items() for one in findings.seen}
    lines = [CONTRASTS.format(heading=heading)]
    for name, one in asked:
        for task in [one.task] if one.task else of[name].study.tasks:
            seen = found.get((name, one, task))
            told = [ABSENT, ABSENT, "not run yet"]
            if seen is not None:
                concluded = seen.conclusion
                told = [change(as_dict(concluded.found)), chance(concluded.p), str(concluded)]
            what = f"{one.metric} {one.moves} by {one.least:g} in {one.arm} against {one.against}"
            lines.append(f"| {one.claim} | [{task}]({name}/report.md) | {what} | {' | '.join(told)} |")
    return "\n".join(lines) + "\n"


def crossing(of: dict[str, Findings]) -> str:
    """What training did to pass@k at one sample and at the most, of the studies that can show it."""
    lines = [CROSSING]
    for name in CROSSED:
        findings = of[name]
        for task in findings.study.tasks:
            base = findings.bases[task]
            for cell in (cell for cell in findings.cells if cell.task == task and len(cell.changes) > 1):
                ends = [f"{change(as_dict(one.found))} {one.word}" for one in cell.changes.values()]
                guessed = findings.guesses.get(task, {})
                before = ", ".join(f"{base[k]['mean']:.3f} at {k}" for k in cell.changes)
                before += f"; a guesser {guessed[k]:.3f}" if (k := max(cell.changes)) in guessed else ""
                place = f"[{name}]({name}/report.md) | {task} | {cell.arm} | {before}"
                told = [
                    ABSENT if one.void else _checkpoints(findings.of(cell.arm, task), k)
                    for k, one in cell.changes.items()
                ]
                lines.append(f"| {place} | {' | '.join([*ends, *told])} |")
    return "\n".join(lines) + "\n"


def _checkpoints(runs: list[Result], k: int) -> str:
    """The words about each run's model beside its base, over problems: `3 WORSE`."""
    found = [over for run in runs if (over := contrasts.over_problems_at(run.before, run.after, k)) is not None]
    family = Family("checkpoints beside their base", 2 * len(found))
    words = Counter(conclude(one, Stated(), family).word for one in found)
    return ", ".join(f"{count} {word}" for word, count in words.most_common())


def again(of: dict[str, Findings]) -> str:
    """What was expected of each experiment that is run on two tasks, and what became of it on each."""
    lines = [AGAIN]
    for name, findings in of.items():
        first = of.get(name.removeprefix(BED))
        if not name.startswith(BED) or first is None:
            continue
        one = findings.study.expected[0]
        what = f"{one.metric} {one.moves} in {one.arm} against {one.against}"
        lines.append(f"| {name.removeprefix(BED)} | {what} | {_seen(first)} | [{_seen(findings)}]({name}/report.md) |")
    return "\n".join(lines) + "\n"


def _seen(findings: Findings) -> str:
    """The first of what was expected of a study, with its task and the seeds that agree."""
    if not findings.seen:
        return "not run yet"
    one = findings.seen[0]
    return f"{one.task}: {change(as_dict(one.conclusion.found))}, {one.agreeing} of {one.seeds} seeds"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", action="store_true")
    arguments = parser.parse_args()
    every = dict[str, Findings]()
    for name in names():
        with alone():
            every[name] = findings = found(name, study(name), guess=arguments.render)
            if arguments.render:
                markdown.write(findings, HERE / name)
        done = len(findings.results)
        print(f"{name:26} {done} of {done + findings.missing} runs; arms {', '.join(list(findings.study.arms)[:8])}")
    if arguments.render:
        beds = {name: findings for name, findings in every.items() if name.startswith("contrasts-")}
        real = {name: findings for name, findings in every.items() if findings.study.model in PRETRAINED}
        told = [index(every), declared(beds, BEDS), declared(real, REAL), crossing(every)]
        INDEX.write_text(f"{''.join(told)}\n{ATTEMPTS.read_text()}{again(every)}")


if __name__ == "__main__":
    main()
