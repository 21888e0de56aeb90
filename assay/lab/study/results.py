"""What a finished run of a study came to: a small file that a report needs nothing beside, and that is kept."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import assay
from assay.errors import DataError
from assay.lab.study.plan import Run
from assay.record import RunFolder, disk
from assay.scoring.bank import Bank

SERIES = {"reward": "reward/mean", "entropy": "policy/entropy", "length": "length/mean"}
POINTS = 40  # of a series that a result keeps, at most
Json = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """What a run came to: small enough to be committed, and all that a report needs.

    Result.read(Path("studies/first/results/countdown-3/grpo/seed-0.json")).after.correct
    """

    key: str
    arm: str
    task: str
    seed: int
    rate: float
    steps: int
    code: str  # a digest of the package that computed it
    seconds: float
    measured: str
    spent: Mapping[str, float]
    curve: tuple[tuple[float, float, float], ...]  # step, generated tokens, held-out pass@1 during training
    series: Mapping[str, list[tuple[float, float]]]  # name -> (generated tokens, value), thinned
    before: Bank | None  # of the exam before training, and after it
    after: Bank | None
    asked: tuple[str, int, float] = ("test", 0, 1.0)  # set, length and temperature of the exams

    @classmethod
    def read(cls, path: Path) -> Result:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            banks = {name: None if data[name] is None else Bank.from_json(data[name]) for name in ("before", "after")}
            lists = {"curve": tuple(tuple(point) for point in data["curve"]), "asked": tuple(data["asked"])}
            return cls(**{**data, **banks, **lists})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"{path} is not the result of a run ({error}): remove the file, and the run is done again."
            ) from error

    def write(self, path: Path) -> None:
        data = {k: v.to_json() if isinstance(v, Bank) else v for k, v in vars(self).items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        with disk.storage_errors(f"writing {path}"):
            disk.replace(path, (json.dumps(data, separators=(",", ":")) + "\n").encode(), point="study")

    @property
    def tokens(self) -> float:
        """How many tokens the run generated."""
        return self.spent.get("generated_tokens", 0.0)

    @property
    def final(self) -> float | None:
        """The held-out score at the end of training, by which learning rates are chosen."""
        return self.curve[-1][2] if self.curve else None


def result_of(folder: RunFolder, run: Run, key: str, mark: str) -> Result:
    """What a finished run came to."""
    metrics, evals = folder.read("metrics"), folder.read("evals")
    spent = {record["step"]: record.get("budget/generated_tokens", 0.0) for record in metrics} | {0: 0.0}
    exams = [entry for entry in evals if entry["set"] == "test" and "bank" in entry]
    banks = [Bank.from_json(entry["bank"]) for entry in exams]
    last = metrics[-1] if metrics else {}
    seconds = sum(record.get("time/step") or 0.0 for record in metrics)
    thin = max(1, len(metrics) // POINTS)
    return Result(
        key=key,
        arm=run.arm,
        task=run.task,
        seed=run.seed,
        rate=run.rate,
        steps=len(metrics),
        code=mark,
        seconds=round(seconds, 1),
        measured=datetime.datetime.now(datetime.UTC).date().isoformat(),
        spent={name.removeprefix("budget/"): value for name, value in last.items() if name.startswith("budget/")},
        curve=tuple(
            (entry["step"], spent[entry["step"]], entry["pass"]["1"]["mean"])
            for entry in evals
            if entry["set"] == "valid" and entry["step"] in spent
        ),
        series={
            name: [(spent[r["step"]], round(r[metric], 5)) for r in metrics[::thin] if r.get(metric) is not None]
            for name, metric in SERIES.items()
        },
        before=banks[0] if len(banks) > 1 else None,
        after=banks[-1] if banks else None,
        asked=("test", banks[-1].max_new, banks[-1].temperature) if banks else ("test", 0, 1.0),
    )


APART = ("lab", "view", "cli")  # of the package: they compute nothing of a run


def code() -> str:
    """Eight digits of the package: what other code computed is told apart."""
    root, total = Path(assay.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root)
        if path.suffix in (".py", ".h", ".cpp") and name.parts[0] not in APART:
            total.update(name.as_posix().encode() + path.read_bytes())
    return total.hexdigest()[:8]
