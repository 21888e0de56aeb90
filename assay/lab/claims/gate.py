"""CC-00: the instruments tried on cases whose truth is known, and the refusal of cards whose instruments do not hold.

FOLDER/CC-00.json     what every check came to, with the digest of the code that computed it
FOLDER/CC-00.html     the same as a page
FOLDER/CC-00/DIGEST/  what is done so far with this code; a killed gate goes on from it
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
    verdicts_err_seldom,
)
from assay.lab.claims.repeats import repeats_agree
from assay.lab.study.results import code
from assay.record import disk
from assay.record.panel import duration

Json = dict[str, Any]
FOLDER = Path("claims")

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
            "a false claim in at most 5 % of families with exact p, in at most 7 % with those of our intervals",
            families_hold,
        ),
        Check("no-difference", "a difference worth knowing is called none in at most 5 %", equality_errs_seldom),
        Check("verdicts", "false SUPPORTED in at most 5 %, by pooled samples in over 15 %", verdicts_err_seldom),
        Check("power", "the promised numbers show a difference in 77 % to 90 % of studies", power_is_as_promised),
        Check(
            "repeats",
            "a recipe against itself is not SUPPORTED, and at most 10 % of splits differ at 5 %",
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
    """What a run of the gate came to.

    Record.read(Path("claims/CC-00.json")).outcome("pass-at-k").holds
    """

    card: str
    code: str  # a digest of the package, and of the checks
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
    """The digest of the package, and of the checks, which `code` leaves out with the rest of the laboratory."""
    own = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name != "page.py":  # which shows what came, and decides nothing
            own.update(path.name.encode() + path.read_bytes())
    return f"{code()}-{own.hexdigest()[:8]}"


def run(folder: Path = FOLDER, *, card: Card = CC_00, quick: bool = False, tell: Tell = say) -> tuple[Record, Path]:
    """Runs the checks that were not run with this code, and returns what all came to and the file that says it.
    `quick` leaves those out that train or sample models: they count as not run.
    """
    place = folder / card.id / mark()
    outcomes: list[Outcome] = []
    for number, check in enumerate(card.checks, 1):
        path = place / f"{check.name}.json"
        if path.exists():
            outcome = Outcome(**json.loads(path.read_text(encoding="utf-8")))
        elif quick and check.trains:
            outcome = Outcome(check.name, check.expected, "not run", None, 0.0)
        else:
            outcome = _tried(check, place, tell)
            _write(path, dict(vars(outcome)))
        outcomes.append(outcome)
        tell(f"{number} of {len(card.checks)}  {check.name}  {told(outcome)}  {duration(outcome.seconds)}")
    record = Record(
        card=card.id,
        code=mark(),
        measured=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=f"{platform.machine()} with {os.cpu_count()} cores, Assay {assay.__version__}",
        seconds=round(sum(one.seconds for one in outcomes), 1),
        outcomes=tuple(outcomes),
    )
    path = folder / f"{card.id}.json"
    _write(path, record.document())
    return record, path


def _tried(check: Check, place: Path, tell: Tell) -> Outcome:
    began = time.monotonic()
    found = check.measure(Work(place, tell))
    seconds = round(time.monotonic() - began, 1)
    return Outcome(check.name, check.expected, found.came, bool(found.holds), seconds, dict(found.figures))


def _write(path: Path, data: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with disk.storage_errors(f"writing {path}"):
        disk.replace(path, (json.dumps(data, indent=1) + "\n").encode(), point="claims")


def told(outcome: Outcome) -> str:
    return {True: "holds", False: "does not hold", None: "not run"}[outcome.holds]


def require(card: Card, path: Path = FOLDER / "CC-00.json") -> None:
    """Refuses a card by name where a check that it needs does not hold, or was not run with this code.

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
