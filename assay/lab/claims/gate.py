"""CC-00: the instruments tried on cases whose truth is known, and the refusal of cards whose instruments do not hold.

FOLDER/CC-00.json     the outcome of every check, with the digest of the code that computed it
FOLDER/CC-00.html     the same as a page
FOLDER/CC-00/DIGEST/  the checks done so far with this code; a killed gate goes on from it
FOLDER/CC-00/trained/ the models and banks that were made for the checks; they serve other code too
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import assay
from assay.errors import ClaimError, DataError
from assay.host.terminal import say
from assay.lab.claims.card import Card, Check, Outcome, Tell, Work
from assay.lab.claims.constructed import recognised
from assay.lab.claims.estimators import (
    equality_errs_seldom,
    families_hold,
    passes_unbiased,
    power_is_as_promised,
    problem_intervals_cover,
    seed_intervals_cover,
)
from assay.lab.claims.planted import banks_tell, runs_tell, studies_tell
from assay.lab.claims.repeats import repeats_agree
from assay.record import disk
from assay.record.panel import duration

Json = dict[str, Any]
FOLDER = Path("claims")
SAY = (  # the files of the package that turn banks into words
    *("scoring", "lab/claims", "lab/seeds.py", "lab/compare.py", "lab/study/analysis.py", "lab/study/contrasts.py"),
    *("lab/study/guesses.py", "lab/study/markdown.py", "lab/study/plan.py", "lab/study/results.py"),
    *("lab/study/table.py", "lab/guesser.py", "lab/compared_exams.py"),
    *("view/bank_tables.py", "view/judged.py", "view/text.py", "rng.py"),
)
SHOW = ("lab/claims/page.py",)  # shows what came, and decides nothing

CC_00 = Card(
    id="CC-00",
    claim="the instruments say what is so where it is known",
    metric="the checks that hold",
    rule="every check by its own rule, fixed before it was run; a card may report if all that it needs hold",
    checks=(
        Check(
            "pass-at-k",
            "pass@k within 3 standard errors of its true mean; the plug-in more than 3 below",
            passes_unbiased,
        ),
        Check(
            "intervals-over-problems",
            "93 % to 97 % of the 95 % bootstrap intervals hold the true mean",
            problem_intervals_cover,
        ),
        Check(
            "intervals-over-seeds",
            "93 % to 97 % of the 95 % intervals over seeds and problems hold the true difference",
            seed_intervals_cover,
        ),
        Check(
            "families",
            "a false word in at most 5.5 % of families of 3 to 22 arms with 5 to 9 seeds, by pooled samples in 15 %",
            families_hold,
        ),
        Check("no-difference", "a difference worth knowing is called EQUAL in at most 5 %", equality_errs_seldom),
        Check("power", "the promised numbers show a difference in 77 % to 90 % of studies", power_is_as_promised),
        Check(
            "studies",
            "a report calls the better, the worse and the collapsed arm so in 80 % of studies, and its numbers agree",
            studies_tell,
        ),
        Check("runs", "`assay compare RUNS` calls planted runs by their names in 80 %", runs_tell),
        Check("banks", "`assay bank compare` calls planted banks by their names in 80 %", banks_tell),
        Check(
            "repeats",
            "a recipe against itself is neither BETTER nor WORSE, and at most 10 % of splits differ at 5 %",
            repeats_agree,
            trains=True,
        ),
        Check(
            "sharpened",
            "the best of four samples is called sharpening in 95 % of bootstraps",
            recognised("sharpened"),
            trains=True,
        ),
        Check(
            "taught",
            "a base that was taught a new level is called discovery in 95 % of bootstraps",
            recognised("taught"),
            trains=True,
        ),
        Check(
            "resampled",
            "a second bank of the base is called undetermined in 95 % of bootstraps",
            recognised("resampled"),
            trains=True,
        ),
    ),
)


@dataclass(frozen=True)
class Record:
    """The record of a run of the gate.

    Record.read(Path("claims/CC-00.json")).outcome("pass-at-k").holds
    """

    card: str
    code: str  # a digest of the code between a bank and a word, and of the checks
    measured: str
    machine: str
    seconds: float
    outcomes: tuple[Outcome, ...]

    def outcome(self, name: str) -> Outcome | None:
        return next((one for one in self.outcomes if one.name == name), None)

    @property
    def failed(self) -> list[str]:
        return [one.name for one in self.outcomes if one.holds is False]

    @property
    def missing(self) -> list[str]:
        return [one.name for one in self.outcomes if one.holds is None]

    @classmethod
    def read(cls, path: Path) -> Record:
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{**data, "outcomes": tuple(Outcome(**one) for one in data["outcomes"])})
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise DataError(f"{path} is not what the gate came to ({error}): `{command()}` writes it.") from error

    def document(self) -> Json:
        return {**vars(self), "outcomes": [dict(vars(one)) for one in self.outcomes]}


def command(path: Path | None = None) -> str:
    """The command that writes this record of the gate."""
    into = "" if path is None or path.parent == FOLDER else f" --into {path.parent}"
    return f"assay claims run CC-00{into}"


@functools.cache
def mark() -> str:
    """A digest of all code between a bank and a word, and of the checks. Code that trains and samples is not in it:
    that code makes the banks, and a bank says whose it is.
    """
    package, total = Path(assay.__file__).parent, hashlib.sha256()
    for path in said_by(package):
        total.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:12]


def said_by(package: Path) -> list[Path]:
    """The files of the code between a bank and a word, and of the checks."""
    places = [package / place for place in SAY]
    found = [path for place in places for path in ([place] if place.is_file() else place.rglob("*.py"))]
    return sorted(path for path in found if path.relative_to(package).as_posix() not in SHOW)


def run(folder: Path = FOLDER, *, card: Card = CC_00, quick: bool = False, tell: Tell = say) -> tuple[Record, Path]:
    """Runs the checks that were not run with this code, and returns the record of all checks and its file.
    `quick` leaves out the checks that train or sample models: they count as not run.
    """
    store = folder / card.id / mark()
    outcomes: list[Outcome] = []
    for number, check in enumerate(card.checks, 1):
        path = store / f"{check.name}.json"
        if path.exists():
            outcome = Outcome(**json.loads(path.read_text(encoding="utf-8")))
        elif quick and check.trains:
            outcome = Outcome(check.name, check.expected, "not run", None, 0.0)
        else:
            outcome = _tried(check, folder / card.id / "trained", tell)
            _write(path, dict(vars(outcome)))
        outcomes.append(outcome)
        tell(f"{number} of {len(card.checks)}  {check.name}  {told(outcome)}  {duration(outcome.seconds)}")
    record = Record(
        card=card.id,
        code=mark(),
        measured=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=f"{platform.machine()} with {os.cpu_count()} cores, Assay {assay.__version__}",
        seconds=round(sum(outcome.seconds for outcome in outcomes), 1),
        outcomes=tuple(outcomes),
    )
    path = folder / f"{card.id}.json"
    _write(path, record.document())
    return record, path


def _tried(check: Check, trained: Path, tell: Tell) -> Outcome:
    began = time.monotonic()
    found = check.measure(Work(trained, tell))
    seconds = round(time.monotonic() - began, 1)
    return Outcome(check.name, check.expected, found.came, bool(found.holds), seconds, dict(found.figures))


def _write(path: Path, data: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with disk.storage_errors(f"writing {path}"):
        disk.replace(path, (json.dumps(data, indent=1) + "\n").encode(), point="claims")


def told(outcome: Outcome) -> str:
    return {True: "holds", False: "does not hold", None: "not run"}[outcome.holds]


def require(card: Card, path: Path = FOLDER / "CC-00.json") -> None:
    """Refuses a card by name if a check that it needs does not hold, or was not run with this code.

    require(Card("CC-01", "RL narrows coverage", metric="...", rule="...", needs=("verdicts", "repeats")))
    """
    names = [check.name for check in CC_00.checks]
    if strange := [name for name in card.needs if name not in names]:
        raise ClaimError(f"{card.id} needs {strange[0]}, which is no check of the gate: {', '.join(names)}.")
    if not path.exists():
        raise ClaimError(f"{card.id} may not report: the gate was not run. `{command(path)}` runs it.")
    record = Record.read(path)
    if record.code != mark():
        raise ClaimError(
            f"{card.id} may not report: the gate in {path} was run with other code ({record.code}, now {mark()}). "
            f"`{command(path)}` runs it with this code."
        )
    for name in card.needs:
        outcome = record.outcome(name)
        if outcome is None or outcome.holds is None:
            raise ClaimError(f"{card.id} may not report: its check {name} was not run. `{command(path)}` runs it.")
        if not outcome.holds:
            raise ClaimError(
                f"{card.id} may not report: {name} does not hold. Expected: {outcome.expected}. Came: {outcome.came}."
            )
