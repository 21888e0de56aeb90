"""The studies of this folder: what is done of each, and their reports.

python -m bench.studies            # lists them, with what is missing
python -m bench.studies --render   # writes each report.md, and README.md, from the results that are there
assay compare --study bench/studies/cure.toml   # runs what is missing of one
"""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.lab.seeds import bounds
from assay.lab.study import Study, analysis, contrasts, markdown, queue, read
from assay.lab.study.analysis import Findings
from assay.view.text import ABSENT, chance, change

HERE = Path(__file__).parent
INDEX = HERE / "README.md"
ATTEMPTS = HERE / "attempts" / "README.md"  # what was declared of earlier test beds, and what became of it
HEAD = """# Studies

Each study is a file, run by `assay compare --study bench/studies/NAME.toml`, which goes on from the results beside it.
`python -m bench.studies --render` writes this page and the reports.

| study | runs | what it says |
|---|---:|---|"""

CONTRASTS = """
## Contrasts on the test beds

Written down with their direction and their smallest effect, and committed, before the first run. Chances are corrected
for all of them together (Holm). *As expected* is a difference of the size that was said, or a larger one.

| claim | on | what should differ | difference | p | verdict |
|---|---|---|---:|---:|---|"""

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
    return read(HERE / f"{name}.toml")


def found(name: str, of: Study) -> Findings:
    """The findings of the results that are there."""
    return analysis.analyse(of, queue.stored(of, HERE / name))


def index(of: dict[str, Findings]) -> str:
    lines = [HEAD]
    for name, findings in of.items():
        done = len(findings.results)
        said = findings.conclusion if len(findings.study.arms) <= 8 else "see its report"
        lines.append(f"| [{name}]({name}/report.md) | {done} of {done + findings.missing} | {said} |")
    return "\n".join(lines) + "\n"


def declared(of: dict[str, Findings]) -> str:
    """What was declared of the test beds before anything ran, as one family, with what became of each."""
    asked = [(name, one) for name, findings in of.items() for one in findings.study.expected if one.least]
    every = [one for findings in of.values() for one in contrasts.seen(findings.study, [*findings.results.values()])]
    found = {(one.expected, one.task): one for one in contrasts.judged(every)}
    lines = [CONTRASTS]
    for name, one in asked:
        for task in [one.task] if one.task else of[name].study.tasks:
            seen = found.get((one, task))
            told = [ABSENT, ABSENT, "not run yet"]
            if seen is not None:
                told = [change(bounds(seen.difference)), chance(seen.p), f"{seen.verdict} ({seen.seeds} seeds)"]
            what = f"{one.metric} {one.moves} by {one.least:g} in {one.arm} against {one.against}"
            lines.append(f"| {one.claim} | [{task}]({name}/report.md) | {what} | {' | '.join(told)} |")
    return "\n".join(lines) + "\n"


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
    gap = ABSENT if one.difference is None else change(bounds(one.difference))
    return f"{one.task}: {gap}, {one.agreeing} of {one.seeds} seeds"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", action="store_true")
    arguments = parser.parse_args()
    every = {name: found(name, study(name)) for name in names()}
    for name, findings in every.items():
        done = len(findings.results)
        print(f"{name:26} {done} of {done + findings.missing} runs; arms {', '.join(list(findings.study.arms)[:8])}")
        if arguments.render:
            markdown.write(findings, HERE / name)
    if arguments.render:
        beds = {name: findings for name, findings in every.items() if name.startswith("contrasts-")}
        INDEX.write_text(f"{index(every)}{declared(beds)}\n{ATTEMPTS.read_text()}{again(every)}")


if __name__ == "__main__":
    main()
