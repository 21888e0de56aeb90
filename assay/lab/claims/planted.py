"""The gate's planted truths: counts with a known better arm go all the way to the words of a report.

Every way from a bank to a word is gone: a study's results through its analysis into the text of its report, the folders
of runs through `assay compare`, and two banks of samples through `assay bank compare`. In each there is an arm that is
better than the first, one that is worse, one that is the same and one that collapsed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.lab.claims.card import Finding, Work, at_most, key_of
from assay.lab.compare import Comparison, compare_runs
from assay.lab.study import analysis, markdown
from assay.lab.study.analysis import Findings
from assay.lab.study.plan import Arm, Budget, Expected, Study, StudyRun, tasks_of
from assay.lab.study.results import Exam, Result
from assay.lab.study.table import collapses
from assay.record import RunFolder
from assay.rng import Key
from assay.scoring import bank_reports, samples
from assay.scoring.bank import Bank, entry
from assay.scoring.conclusion import ALPHA, Word
from assay.scoring.samples import SampleBank
from assay.view.bank_tables import compared_table
from assay.view.text import ABSENT

TASK = "countdown:3"
GAP = 0.12  # between the first arm and the better one, and the worse one
SPREAD = 0.02  # of the differences between paired seeds
PROBLEMS, TRIES = 128, 16  # of an exam
LEAST_POWER = 0.8  # with which a planted difference must be called by its name
SHAPES = ((5, 4), (5, 22), (9, 4), (9, 22))  # seeds and arms of the studies
FIRST, WINNER, LOSER, COLLAPSED = "first", "winner", "loser", "collapsed"
TRUTH: dict[str, Word] = {WINNER: "BETTER", LOSER: "WORSE", COLLAPSED: "WORSE"}
CONTRASTS = (
    Expected("pass@1", WINNER, FIRST, "up", least=0.02, claim="the better arm is better"),
    Expected("pass@4", LOSER, FIRST, "up", claim="the worse arm is better"),
    Expected("length", WINNER, LOSER, "down", least=1.0, claim="the better arm is shorter"),
    Expected("policy/entropy", LOSER, FIRST, "up", least=0.1, claim="the worse arm has more entropy"),
)
EXPECTED: dict[str, Word] = {
    CONTRASTS[0].claim: "SUPPORTED",
    CONTRASTS[1].claim: "REFUTED",
    CONTRASTS[2].claim: "SUPPORTED",
    CONTRASTS[3].claim: "SUPPORTED",
}


@dataclass(frozen=True)
class Planted:
    """A study of so many arms, and what its exams would count.

    Planted(arms=4, seeds=5).counts(Key(0))["winner"]  # int[S, M] right answers of TRIES
    """

    arms: int
    seeds: int

    @property
    def names(self) -> list[str]:
        ties = [f"tie-{number}" for number in range(1, self.arms - 3)]
        return [FIRST, WINNER, LOSER, *ties, COLLAPSED]

    @property
    def study(self) -> Study:
        arms = {name: Arm("grpo") for name in self.names}
        return Study(arms, tasks_of([TASK]), tuple(range(self.seeds)), Budget("steps", 4), expected=CONTRASTS)

    def chances(self, key: Key) -> dict[str, np.ndarray]:
        """float[S, M] of each arm, and of the base under `before`."""
        generator = key.generator()
        ease = 0.2 + 0.5 * generator.beta(2.0, 3.0, PROBLEMS)
        shift = {WINNER: GAP, LOSER: -GAP}
        found = {"before": np.tile(ease - 0.05, (self.seeds, 1))}
        for name in self.names:
            liking = generator.normal(0.0, 0.05, PROBLEMS)
            of_seed = generator.normal(0.0, SPREAD / np.sqrt(2), (self.seeds, 1))
            chances = ease + (liking - liking.mean()) + of_seed + shift.get(name, 0.0)
            found[name] = np.clip(0.05 * chances if name == COLLAPSED else chances, 0.0, 1.0)
        return found

    def counts(self, key: Key) -> dict[str, np.ndarray]:
        """int[S, M] right answers of each arm, and of the base."""
        generator = key("counts").generator()
        return {name: generator.binomial(TRIES, chances) for name, chances in self.chances(key).items()}

    def results(self, key: Key) -> dict[StudyRun, Result]:
        """The results of the runs of the study."""
        counts, generator = self.counts(key), key("means").generator()
        return {
            StudyRun(name, TASK, seed): _result(name, seed, counts, float(generator.normal(0.0, 0.02)))
            for name in self.names
            for seed in range(self.seeds)
        }


def bank_of(right: np.ndarray, length: float) -> Bank:
    """The bank of an exam with so many right answers to each problem."""
    zero = np.zeros(len(right), np.int64)
    ids = tuple(f"p{i}" for i in range(len(right)))
    tokens = zero + round(length * TRIES)
    return Bank(ids, ("toy",) * len(right), zero, zero + TRIES, right.astype(np.int64), zero, zero, tokens, max_new=22)


def _result(arm: str, seed: int, counts: Mapping[str, np.ndarray], noise: float) -> Result:
    lengths, entropies = {WINNER: 10.0, LOSER: 14.0}, {LOSER: 0.8}
    before = bank_of(counts["before"][seed], 12.0)
    after = bank_of(counts[arm][seed], lengths.get(arm, 12.0) + noise)
    scores = [float(bank.correct.sum() / bank.n.sum()) for bank in (before, before, after, after)]
    return Result(
        key="planted",
        arm=arm,
        task=TASK,
        seed=seed,
        rate=1.0,
        steps=4,
        planned=4,
        code="planted",
        seconds=1.0,
        measured="2026-01-01",
        spent={"generated_tokens": 1000.0},
        curve=tuple((step, 250.0 * step, score) for step, score in enumerate(scores)),
        series={},
        before=Exam.of(before),
        after=Exam.of(after),
        asked=("test", 22, 1.0),
        means={"policy/entropy": entropies.get(arm, 0.4) + noise},
    )


def studies_tell(
    work: Work,
    *,
    analyse: Callable[[Study, Mapping[StudyRun, Result]], Findings] = analysis.analyse,
    text: Callable[[Findings, str], str] = markdown.text,
    shapes: Sequence[tuple[int, int]] = SHAPES,
    replications: int = 40,
) -> Finding:
    """Studies with 5 and 9 seeds and with 4 and 22 arms, as their reports tell them."""
    key, figures, slips, false, trials = key_of("studies"), dict[str, float](), list[str](), 0, 0
    for seeds, arms in shapes:
        planted, called = Planted(arms, seeds), dict[str, int]()
        for r in range(replications):
            findings = analyse(planted.study, planted.results(key(seeds, arms, r)))
            words: dict[str, Word | None] = {cell.arm: cell.claim.word for cell in findings.cells if cell.arm != FIRST}
            words |= {contrast.expected.claim: contrast.conclusion.word for contrast in findings.seen}
            for name, word in (TRUTH | EXPECTED).items():
                called[name] = called.get(name, 0) + (words.get(name) == word)
            false += any(_false(name, word) for name, word in words.items())
            trials += 1
            slips += misread(findings, text(findings, "planted"))
        figures |= {f"{name}, {seeds} seeds, {arms} arms": n / replications for name, n in called.items()}
    figures["families with a false word"] = false / trials
    least = min(value for name, value in figures.items() if "families" not in name)
    came = (
        f"what is planted is called by its name in {least:.0%} of studies at least, a false word stands in "
        f"{false / trials:.1%}; {f'the report contradicts itself: {slips[0]}' if slips else 'reports agree with it'}"
    )
    return Finding(came, least >= LEAST_POWER and at_most(false / trials, ALPHA, trials) and not slips, figures)


def _false(name: str, word: Word | None) -> bool:
    """Whether the word for an arm or a claim is false. UNDECIDED never is, and EQUAL is not for an arm without a
    difference.
    """
    right = (TRUTH | EXPECTED).get(name)
    return word not in (right, "EQUAL" if right is None else right, "UNDECIDED")


def misread(found: Findings, text: str) -> list[str]:
    """The contradictions in a report: numbers that do not fit each other, and words that do not fit the conclusions."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]
    headings = next(row for row in rows if row[0] == "method")
    whole = [row for row in rows if row[0] in found.study.arms and len(row) == len(headings)]
    table = {row[0]: dict(zip(headings, row, strict=True)) for row in whole}
    after = next(name for name in headings if name.startswith("after"))
    slips = []
    for cell in found.cells:
        row = table[cell.arm]
        before, own, gain = (_mean(row[name]) for name in ("before", after, "gain"))
        if abs(own - before - gain) > 2e-3:
            slips.append(f"{cell.arm} goes from {before} to {own}, a gain of {gain}")
        if row["difference"] != ABSENT:
            difference, first = _mean(row["difference"]), _mean(table[FIRST][after])
            if abs(own - first - difference) > 2e-3:
                slips.append(f"{cell.arm} has {own} beside {first}, a difference of {difference}")
            if not row["verdict"].startswith(str(cell.claim.word)):
                slips.append(f"{cell.arm} is {cell.claim.word}, and its row says {row['verdict']}")
            named = f"{cell.arm} ({row['difference']})" in found.conclusion
            if named != (cell.claim.word in ("BETTER", "WORSE") and _side(cell.arm, found) == cell.claim.word):
                slips.append(f"{cell.arm} is {cell.claim.word}, and the conclusion says: {found.conclusion}")
    if f"{COLLAPSED} in {len(found.study.seeds)} of" not in collapses(found, TASK):
        slips.append(f"every run of {COLLAPSED} did so, and the report says: {collapses(found, TASK)}")
    return slips


def _side(arm: str, found: Findings) -> str:
    """The first verdict behind an arm in the text of the conclusion; empty if there is none."""
    place = found.conclusion.find(f"{arm} (")
    ends = {word: found.conclusion.find(f" {word} than", place) for word in ("BETTER", "WORSE")} if place >= 0 else {}
    return min((word for word, end in ends.items() if end >= 0), key=lambda word: ends[word], default="")


def _mean(text: str) -> float:
    return float(text.partition(" ")[0].replace(",", ""))


def runs_tell(work: Work, *, compare: Callable[..., Comparison] = compare_runs, replications: int = 6) -> Finding:
    """Folders of finished runs, with five seeds of each method, and with one run of each."""
    key, planted, words = key_of("runs"), Planted(4, 5), dict[str, list[Word | None]]()
    for r in range(replications):
        counts = planted.counts(key(r))
        with tempfile.TemporaryDirectory() as folder:
            paths = {
                (name, seed): _run(Path(folder) / f"{name}-{seed}", name, seed, counts[name][seed])
                for name in planted.names
                for seed in range(planted.seeds)
            }
            for method in compare([*paths.values()]).methods[1:]:
                words.setdefault(f"{method.label}, 5 seeds", []).append(method.word)
            for arm in compare([path for (_, seed), path in paths.items() if seed == 0]).arms[1:]:
                words.setdefault(f"{arm.label}, one run", []).append(arm.word)
    return _told(words)


def _run(path: Path, name: str, seed: int, right: np.ndarray) -> Path:
    """The folder of a finished run with this exam."""
    document = {"recipe": name, "experiment": {"recipe": {"name": name}, "seed": seed}}
    with RunFolder.create(path, identity={}, document=document) as folder:
        folder.append("metrics", {"step": 1, "reward/mean": 0.5})
        folder.append("evals", entry(bank_of(right, 12.0), step=1, set="test", ks=[1]))
    return path


def banks_tell(work: Work, *, replications: int = 6) -> Finding:
    """Banks of samples, compared at each k, and the table that shows it."""
    key, planted, words, slips = key_of("banks"), Planted(4, 5), dict[str, list[Word | None]](), list[str]()
    for r in range(replications):
        counts = planted.counts(key(r))
        first, *others = (_samples(name, counts[name][0]) for name in planted.names)
        for other in others:
            comparison = bank_reports.compared(first, other, [1, 4])
            table = compared_table(comparison)
            for k, claim in comparison["difference"]["pass"].items():
                words.setdefault(f"{other.asked.model}, pass@{k}", []).append(claim["word"])
                row = next(line for line in table.splitlines() if line.startswith(f"pass@{k} "))
                before, after, difference = (float(text) for text in row.split()[1:4])
                if abs(after - before - difference) > 2e-3 or claim["word"] not in row:
                    slips.append(row)
    finding = _told(words)
    return Finding(
        f"{finding.came}; misread: {slips[0]}" if slips else finding.came, finding.holds and not slips, finding.figures
    )


def _samples(name: str, right: np.ndarray) -> SampleBank:
    """A bank of samples, of which so many are right."""
    import pyarrow as pa

    rows = [
        {
            "problem": f"p{i}",
            "task": "toy",
            "level": 0,
            "sample": j,
            "ids": [1],
            "text": "x",
            "answer": "x",
            "status": "ok" if j < c else "fail",
            "kind": "" if j < c else "wrong",
            "correct": bool(j < c),
            "finish": "end",
            "tokens": 1,
            "logp": -1.0,
        }
        for i, c in enumerate(right)
        for j in range(TRIES)
    ]
    problems = {f"p{i}": {"task": "toy", "prompt": str(i), "canonical": str(i)} for i in range(len(right))}
    asked = samples.Asked(
        model=name,
        weights=name,
        pool={},
        split="test",
        samples=TRIES,
        temperature=1.0,
        top_p=1.0,
        max_new=22,
        seed=0,
        system="",
        judge=(),
        problems=problems,
    )
    return SampleBank(asked, pa.Table.from_pylist(rows, schema=samples.schema()))


def _told(words: Mapping[str, Sequence[Word | None]]) -> Finding:
    """The finding on the words for the planted arms: at most a share of `ALPHA` may be false, but for chance, and most
    must be true.
    """
    figures, false = dict[str, float](), list[str]()
    for name, said in words.items():
        arm = name.partition(",")[0]
        false += [f"{name} is called {word}" for word in said if _false(arm, word)]
        if arm in TRUTH:
            figures[name] = said.count(TRUTH[arm]) / len(said)
    least, all_said = min(figures.values()), sum(map(len, words.values()))
    came = f"called by its name in {least:.0%} at least; false words: {len(false)} of {all_said} {false[:1]}"
    return Finding(came, least >= LEAST_POWER and at_most(len(false) / all_said, ALPHA, all_said), figures)
