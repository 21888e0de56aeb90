"""Planted truths: a sign that is flipped anywhere between a bank and a word is noticed by the gate, whose digest holds
all code that stands there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.lab.claims import gate, planted
from assay.lab.claims.card import Work

FAULTS = {  # where a sign, a side or a family is lost -> the file, what stands there, and what a fault would say
    "the difference of two arms": (
        "lab/seeds.py",
        "both[len(seeds) :] - both[: len(seeds)]",
        "both[: len(seeds)] - both[len(seeds) :]",
    ),
    "the first arm": (
        "lab/study/analysis.py",
        "claim_of(examined[first, task], examined[arm, task])",
        "claim_of(examined[arm, task], examined[first, task])",
    ),
    "the gain": (
        "lab/study/analysis.py",
        "found = claim_of(before, after).effect",
        "found = claim_of(after, before).effect",
    ),
    "the exam after training": (
        "lab/study/analysis.py",
        "[(r.seed, r.after) for r in of[arm, task]]",
        "[(r.seed, r.before) for r in of[arm, task]]",
    ),
    "the arms of a contrast": (
        "lab/study/contrasts.py",
        "differences = pairs[0] - pairs[1]",
        "differences = pairs[1] - pairs[0]",
    ),
    "the sides of pass@k": (
        "lab/study/contrasts.py",
        "np.array(passed[0]) - np.array(passed[1])",
        "np.array(passed[1]) - np.array(passed[0])",
    ),
    "right for wrong": (
        "lab/study/results.py",
        "right=tuple(bank.correct.tolist())",
        "right=tuple((bank.n - bank.correct).tolist())",
    ),
    "shares of wrong answers": (
        "lab/seeds.py",
        "problem: c / count for",
        "problem: 1 - c / count for",
    ),
    "the better side": (
        "scoring/conclusion.py",
        '"BETTER" if found.low > 0 else "WORSE" if found.high < 0',
        '"WORSE" if found.low > 0 else "BETTER" if found.high < 0',
    ),
    "a direction": (
        "scoring/conclusion.py",
        'if stated.moves == "up" else (-found.high, -found.low)',
        'if stated.moves != "up" else (-found.high, -found.low)',
    ),
    "no word at all": (
        "scoring/conclusion.py",
        "few = estimate.seeds is not None and",
        "few = estimate.seeds is None or True and",
    ),
    "the side of an interval": (
        "scoring/inference.py",
        "Interval(self.mean, self.mean - half, self.mean + half)",
        "Interval(self.mean, -self.mean - half, half - self.mean)",
    ),
    "two runs": (
        "lab/compare.py",
        "_claim(finals[first], finals[position], family)",
        "_claim(finals[position], finals[first], family)",
    ),
    "two banks": (
        "scoring/bank.py",
        "over_problems(passed[1] - passed[0], key",
        "over_problems(passed[0] - passed[1], key",
    ),
    "the sign that is shown": (
        "view/text.py",
        "{estimate['mean']:{form}} {bounds",
        "{-estimate['mean']:{form}} {bounds",
    ),
    "the words of a conclusion": (
        "lab/study/analysis.py",
        "{_few(named)} {_is(named)} {word} than {first}",
        "{first} is {word} than {_few(named)}",
    ),
}
TRIAL = """
import sys
from pathlib import Path
from assay.lab.claims import planted
from assay.lab.claims.card import Work
work = Work(Path("unused"), lambda _: None)
held = [planted.studies_tell(work, shapes=[(5, 4)], replications=1)]
held += [tell(work, replications=1) for tell in (planted.runs_tell, planted.banks_tell) if held[0].holds]
print(*(one.came for one in held), sep="\\n")
sys.exit(0 if all(one.holds for one in held) else 3)
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with its bytecode, to plant faults in."""
    place = tmp_path_factory.mktemp("package")
    shutil.copytree(Path(assay.__file__).parent, place / "assay")
    return place


def tried(package: Path) -> subprocess.CompletedProcess[str]:
    """What the planted truths come to with the copy."""
    environment = os.environ | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-c", TRIAL], env=environment, cwd=package, capture_output=True, text=True, check=False
    )


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("fault", ["", *FAULTS])
def test_a_sign_that_is_flipped_between_a_bank_and_a_word_is_noticed(package: Path, fault: str) -> None:
    if not fault:
        done = tried(package)
        assert done.returncode == 0, done.stdout + done.stderr
        return
    name, there, instead = FAULTS[fault]
    file = package / "assay" / name
    text = file.read_text()
    assert text.count(there) == 1, f"{name} has another text now: plant the fault there"
    try:
        file.write_text(text.replace(there, instead))
        done = tried(package)
    finally:
        file.write_text(text)
    assert done.returncode == 3, f"nobody noticed: {done.stdout}{done.stderr}"


ROOMS = ("lab/", "scoring/", "view/")  # where banks become words; the rest plans, records and tells
EXEMPT = ("lab/study/apart.py", "lab/study/progress.py", "lab/study/declared.py", "view/report.py")  # decide no word


@pytest.mark.slow
def test_the_digest_of_the_gate_holds_all_code_that_runs_on_the_way_to_a_word() -> None:
    package = Path(assay.__file__).parent
    inside = {path.relative_to(package).as_posix() for path in gate.said_by(package)}
    seen: set[str] = set()
    sys.setprofile(lambda frame, event, _: seen.add(frame.f_code.co_filename) if event == "call" else None)
    try:
        work = Work(Path("unused"), print)
        planted.studies_tell(work, shapes=[(5, 4)], replications=1)
        planted.runs_tell(work, replications=1)
        planted.banks_tell(work, replications=1)
    finally:
        sys.setprofile(None)
    ran = {Path(name).relative_to(package).as_posix() for name in seen if name.startswith(f"{package}{os.sep}")}
    assert {"lab/seeds.py", "scoring/conclusion.py", "lab/study/contrasts.py", "view/text.py"} <= ran & inside
    assert sorted(name for name in ran - inside if name.startswith(ROOMS) and name not in EXEMPT) == []
