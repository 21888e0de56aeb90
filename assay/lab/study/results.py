"""The result of a finished run of a study: a small file that is kept, and that is all a report needs."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import assay
from assay.errors import DataError
from assay.host.processor import processor
from assay.lab.study.plan import StudyRun
from assay.record import RunFolder, disk
from assay.scoring.bank import Bank, powers
from assay.scoring.passk import pass_at_k
from assay.view.elicited import EXAMPLES
from assay.view.judged import judged

SERIES = {"reward": "reward/mean", "entropy": "policy/entropy", "length": "length/mean"}
POINTS = 40  # of a series that a result keeps, at most
UNKEPT = ("time/", "perf/", "budget/")  # metrics whose mean over a run says nothing of a method
DIGITS = 6  # of the numbers of a result
FALLEN = 0.5  # of its best score: a run that stays below this share has collapsed
EXAMS = ("before", "after", "examples")  # of a result
WATCHED = 3  # exams of a run, at least, by which a collapse can be told from a run that was never good
APART = ("lab", "view", "cli")  # of the package: they compute nothing of a run
Json = dict[str, Any]


@dataclass(frozen=True)
class Exam:
    """The scores of a model in an exam. If only means were kept, nothing is known of single problems."""

    passes: Mapping[int, float]  # k -> mean pass@k
    problems: tuple[str, ...] = ()
    n: tuple[int, ...] = ()  # valid samples of each problem
    right: tuple[int, ...] = ()  # right ones among them
    length: float | None = None  # tokens of an answer
    truncated: float | None = None  # share of the answers that were cut
    invalid: int = 0  # answers without a verdict

    @classmethod
    def of(cls, bank: Bank) -> Exam:
        verified = bank.select(np.flatnonzero(bank.n > 0))
        least = int(verified.n.min()) if len(verified) else 0
        valid = max(int(bank.n.sum()), 1)
        return cls(
            passes={k: float(pass_at_k(verified.n, verified.correct, k=k).mean()) for k in powers(least)},
            problems=bank.problems,
            n=tuple(bank.n.tolist()),
            right=tuple(bank.correct.tolist()),
            length=float(bank.tokens.sum() / valid),
            truncated=float(bank.truncated.sum() / valid),
            invalid=int(bank.invalid.sum()),
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Exam:
        lists = {name: tuple(data[name]) for name in ("problems", "n", "right") if name in data}
        return cls(**{**data, **lists, "passes": {int(k): value for k, value in data["passes"].items()}})


@dataclass(frozen=True)
class Result:
    """The result of a run: small enough to be committed, and all that a report needs.

    Result.read(Path("studies/first/results/countdown-3/grpo/seed-0.json")).after.passes[1]
    """

    key: str
    arm: str
    task: str
    seed: int
    rate: float
    steps: int
    planned: int  # steps, of which tokens may have ended the run earlier
    code: str  # a digest of the package that computed it
    seconds: float
    measured: str
    spent: Mapping[str, float]
    curve: tuple[tuple[float, float, float], ...]  # step, tokens, held-out pass@1 during training
    series: Mapping[str, list[tuple[float, float]]]  # name -> (tokens, value), thinned
    before: Exam | None = None  # the exam before training, and the one after it
    after: Exam | None = None
    asked: tuple[str, int, float] = ("test", 0, 1.0)  # set, length and temperature of the exams
    means: Mapping[str, float] = field(default_factory=dict)  # metric -> its mean over the steps
    machine: str = ""  # that it ran on
    examples: Exam | None = None  # the exam before training with worked examples before each question
    judge: str = ""  # who found the answers of the exams right; empty in results of earlier versions
    others: Mapping[str, Exam] = field(default_factory=dict)  # the exam after training by each further judge

    @classmethod
    def read(cls, path: Path) -> Result:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            exams = {name: Exam.from_json(data[name]) for name in EXAMS if data.get(name) is not None}
            exams |= {"others": {name: Exam.from_json(exam) for name, exam in data.get("others", {}).items()}}
            lists = {"curve": tuple(tuple(point) for point in data["curve"]), "asked": tuple(data["asked"])}
            return cls(**{**data, **exams, **lists})
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(
                f"{path} is not the result of a run ({error}): remove the file, and the run is done again."
            ) from error

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with disk.storage_errors(f"writing {path}"):
            data = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
            text = json.dumps(_short(data), separators=(",", ":"))
            disk.replace(path, (text + "\n").encode(), point="study")

    @property
    def tokens(self) -> float:
        """How many tokens the run generated; or trained on, if it generated none."""
        return tokens_of(self.spent)

    @property
    def final(self) -> float | None:
        """The held-out score at the end of training, by which learning rates are chosen."""
        return self.curve[-1][2] if self.curve else None

    @property
    def watched(self) -> bool:
        """Whether the run was examined often enough while it trained that a collapse would be seen."""
        return len(self.curve) >= WATCHED

    @property
    def collapsed(self) -> int | None:
        """The step of the exam from which the held-out score stays below half of the best before it; None where the
        run ends above that.
        """
        best, since = 0.0, None
        for step, _, score in self.curve:
            since = None if score >= FALLEN * best else since if since is not None else int(step)
            best = max(best, score)
        return since if self.watched else None


def tokens_of(spent: Mapping[str, float]) -> float:
    """The tokens by which budgets are counted: generated ones, or those of training where none are generated."""
    return spent.get("generated_tokens", 0.0) or spent.get("update_tokens", 0.0)


def result_of(folder: RunFolder, run: StudyRun, *, key: str, planned: int, code: str) -> Result:
    """The result of a finished run."""
    metrics, evals = folder.read("metrics"), folder.read("evals")
    last = _spent(metrics[-1]) if metrics else {}
    measure = "generated_tokens" if last.get("generated_tokens") else "update_tokens"
    spent = {record["step"]: record.get(f"budget/{measure}", 0.0) for record in metrics} | {0: 0.0}
    banks = [(entry["set"], Bank.from_json(entry["bank"])) for entry in evals if "bank" in entry]
    exams = [bank for name, bank in banks if name == "test"]
    examples = next((Exam.of(bank) for name, bank in banks if name == EXAMPLES), None)
    last_exam = next((entry for entry in reversed(evals) if entry["set"] == "test" and "bank" in entry), None)
    judges = [] if last_exam is None else judged(last_exam, folder.document)
    thin = max(1, len(metrics) // POINTS)
    return Result(
        key=key,
        arm=run.arm,
        task=run.task,
        seed=run.seed,
        rate=run.rate,
        steps=len(metrics),
        planned=planned,
        code=code,
        seconds=round(sum(record.get("time/step") or 0.0 for record in metrics), 1),
        measured=datetime.datetime.now(datetime.UTC).date().isoformat(),
        spent=last,
        curve=tuple(
            (entry["step"], spent[entry["step"]], entry["pass"]["1"]["mean"])
            for entry in evals
            if entry["set"] == "valid" and entry["step"] in spent
        ),
        series={
            name: [(spent[r["step"]], r[metric]) for r in metrics[::thin] if r.get(metric) is not None]
            for name, metric in SERIES.items()
        },
        before=Exam.of(exams[0]) if len(exams) > 1 else None,
        after=Exam.of(exams[-1]) if exams else None,
        asked=("test", exams[-1].max_new, exams[-1].temperature) if exams else ("test", 0, 1.0),
        means=_means(metrics),
        machine=processor(),
        examples=examples,
        judge=judges[0].judge if judges else "",
        others={by.judge: Exam.of(by.bank) for by in judges[1:] if by.bank is not None},
    )


def _spent(record: Mapping[str, Any]) -> dict[str, float]:
    return {name.removeprefix("budget/"): value for name, value in record.items() if name.startswith("budget/")}


def _means(metrics: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The mean of each metric over the steps that have it."""
    values: dict[str, list[float]] = {}
    for record in metrics:
        for name, value in record.items():
            if name != "step" and not name.startswith(UNKEPT):
                values.setdefault(name, []).append(value)
    return {name: sum(of_steps) / len(of_steps) for name, of_steps in values.items()}


def _short(data: Any) -> Any:
    """The data with numbers of few digits: a result is read by people too, and kept for long."""
    if isinstance(data, float):
        return float(f"{data:.{DIGITS}g}") if abs(data) < 10**DIGITS else data
    if isinstance(data, Mapping):
        return {name: _short(value) for name, value in data.items()}
    return [_short(value) for value in data] if isinstance(data, list | tuple) else data


def code() -> str:
    """Eight digits of the package's code, which tell results of other code apart."""
    root, total = Path(assay.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if path.suffix in (".py", ".h", ".cpp") and name.parts[0] not in APART:
            total.update(name.as_posix().encode() + path.read_bytes())
    return total.hexdigest()[:8]
