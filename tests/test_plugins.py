"""Another package's recipe and part, installed by pip from a wheel, work like ours; a broken one says what is wrong."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hub_cache import any_text_model
from registries import TABLES, registries_restored
from small_runs import ROOT

from assay import errors, known, tasks
from assay.host import offers
from assay.lab import doctor
from assay.tasks import TASKS

MODULE = '''
import dataclasses

from assay.objective import Objective, SequenceMean
from assay.part import Gate
from assay.recipe import Like
from assay.tasks.countdown import COUNTDOWN
from assay.tasks.task import Generator, Solution, Wordings


def half(ratio, advantage, *, factor):
    """g = factor w."""
    return factor * ratio


class Half(Gate):
    """Half of the ratio."""

    factor: float = 0.5
    does = half


GOAL = Objective(gate=Half(), aggregate=SequenceMean())
CHANGES = {"mechanism.objective": GOAL}
HALVED = Like("grpo", name="halved", title="Half as hard", paper="-", claim="none", changes=CHANGES)
TASK = dataclasses.replace(
    COUNTDOWN,
    name="theirs",
    summary="one number",
    generator=Generator(
        levels=range(1, 3),
        instance=lambda generator, level: {"n": int(generator.integers(10**6))},
        canonical=lambda spec: str(spec["n"]),
    ),
    wordings=Wordings(
        compact=lambda spec: f"{spec['n']}?",
        natural=lambda spec: f"Write {spec['n']}.",
        solve=lambda spec: Solution(str(spec["n"])),
    ),
)
LISTED = dataclasses.replace(TASK, name="listed", generator=dataclasses.replace(TASK.generator, levels=[1, 2]))
'''
OFFERS = {"assay.methods": {"halved": "tiny_assay"}}
WRONG = {  # what is changed in the module, and what is said of it
    "a name of ours": ("class Half", "class Clip", "has a part 'gate:clip', and assay.objective.gates has one already"),
    "a recipe of ours": ('name="halved"', 'name="grpo"', "has a recipe 'grpo', and there is one already"),
    "a base that is not": ('Like("grpo"', 'Like("grpq"', "there is no recipe 'grpq', and others start from it: halved"),
    "no such field": ('"mechanism.objective"', '"mechanism.objectiv"', "Did you mean 'objective'?"),
    "a field too many": (
        "factor: float = 0.5",
        "factor: float = 0.5\n    other: float = 0.5",
        "has a field 'other', and its function has no argument of this name",
    ),
    "a misspelt wish": ("advantage, *, factor", "advantage, *, vieuw, factor", "Did you mean 'view'?"),
    "no default": ("factor: float = 0.5", "factor: float", "Half needs a value for its field 'factor'"),
    "a contradiction": (
        '{"mechanism.objective": GOAL}',
        '{"scale.group_size": 1}',
        "a group of one has nothing to compare",
    ),
}


def wheel(folder: Path, offers: dict[str, dict[str, str]]) -> Path:
    """A wheel of one module with these entry points, made by hand."""
    lines = []
    for group, entries in offers.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    info = "tiny_assay-1.0.dist-info"
    files = {
        "tiny_assay.py": MODULE,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny-assay\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(lines) + "\n",
    }
    record = "".join(f"{name},sha256={_digest(text)},{len(text)}\n" for name, text in files.items())
    path = folder / "tiny_assay-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in files.items():
            file.writestr(name, text)
        file.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return path


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def installed(folder: Path, offers: dict[str, dict[str, str]] = OFFERS) -> Path:
    place = folder / "site"
    line = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(place)]
    subprocess.run([*line, str(wheel(folder, offers))], check=True, env=_environment(folder), capture_output=True)
    return place


def _environment(*places: Path) -> dict[str, str]:
    path = os.pathsep.join(map(str, [ROOT, *places]))
    return os.environ | {"PYTHONPATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "OMP_NUM_THREADS": "1"}


def assay(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "assay", *arguments]
    return subprocess.run(line, env=_environment(place), cwd=place, capture_output=True, text=True, check=False)


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_recipe_and_a_part_of_another_package(tmp_path: Path) -> None:
    place = installed(tmp_path)
    listed = json.loads(assay(place, "list", "recipes", "--json").stdout)
    assert "halved" in [row["name"] for row in listed]
    explained = json.loads(assay(place, "explain", "halved", "--json").stdout)
    assert explained["factors"]["gate"][0]["title"] == "half(factor=0.5)"
    assert explained["on_policy"] == {"right": 0.5, "wrong": 0.5, "depends": []}
    parts = [row["name"] for row in json.loads(assay(place, "list", "parts", "--json").stdout)]
    assert "gate:half" in parts
    planned = assay(place, "train", "grpo", "--mechanism.objective.gate", "half", "--dry-run", "--json")
    assert json.loads(planned.stdout)["recipe"]["mechanism"]["objective"]["gate"]["part"] == "half"


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_task_of_another_package_is_listed_and_shown(tmp_path: Path) -> None:
    place = installed(tmp_path, {"assay.tasks": {"theirs": "tiny_assay:TASK"}})
    listed = {row["name"]: row for row in json.loads(assay(place, "list", "tasks", "--json").stdout)}
    assert listed["theirs"]["summary"] == "one number" and listed["theirs"]["levels"] == [1, 2]
    shown = json.loads(assay(place, "show", "theirs", "--json").stdout)
    assert shown["examples"]["compact"]["solution"].isdecimal()
    model = str(any_text_model(tmp_path / "model"))
    planned = assay(place, "train", "grpo", "--model", model, "--task", "theirs:2", "--dry-run", "--json")
    assert json.loads(planned.stdout)["pool"]["shares"][0]["task"] == "theirs"


BROKEN = {
    "assay.methods": {"halved": "tiny_assay", "gone": "nowhere", "again": "tiny_assay:HALVED"},
    "assay.tasks": {"torn": "torn_assay:TASK"},
}


@pytest.mark.turns(3)
@pytest.mark.slow
def test_broken_offers_are_named_and_the_rest_works(tmp_path: Path) -> None:
    place = installed(tmp_path, BROKEN)
    (place / "torn_assay.py").write_text("print('noise')\nraise SystemExit(3)\n")
    for line in (["doctor"], ["list", "recipes"], ["list", "tasks"], ["list", "parts"], ["explain", "halved"]):
        done = assay(place, *line, "--json")
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)
        for name in ("'gone'", "'again'", "'torn'"):
            assert f"warning: the package 'tiny-assay' offers {name}" in done.stderr
    plugins = json.loads(assay(place, "doctor", "--json").stdout)["plugins"]
    assert plugins["state"] == "warning" and "method 'gone' of the package 'tiny-assay'" in plugins["found"]
    asked = assay(place, "train", "gone", "--json")
    assert asked.returncode == 2
    assert "cannot be loaded: ModuleNotFoundError: No module named 'nowhere'" in json.loads(asked.stdout)["message"]
    report = assay(place, "report", str(tmp_path))
    assert report.returncode == 2 and "holds no run" in report.stderr, "what is asked for, and no word of a bug"


Offering = Callable[..., tuple[offers.Offer, ...]]


@pytest.fixture
def offering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Offering]:
    """Reads (group, name, value) as the offers of installed packages; what was known before is known after."""
    (tmp_path / "tiny_assay.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tiny_assay", raising=False)

    def offer(*given: tuple[str, str, str]) -> tuple[offers.Offer, ...]:
        entries = tuple(EntryPoint(name, value, group) for group, name, value in given)
        monkeypatch.setattr(offers, "installed", lambda: entries)
        monkeypatch.setattr(tasks, "TASKS", dict(TASKS))
        monkeypatch.setattr(offers, "WITHHELD", {})
        monkeypatch.setattr(errors, "WITHHELD", offers.WITHHELD)
        monkeypatch.setattr(offers, "load", functools.cache(offers.load.__wrapped__))
        return known.others()

    with registries_restored():
        yield offer


def test_a_task_of_another_package_is_one_like_ours(offering: Offering) -> None:
    (offer,) = offering(("assay.tasks", "theirs", "tiny_assay:TASK"))
    assert not offer.problem
    assert tasks.task("theirs").generator.levels == range(1, 3)
    with pytest.raises(errors.UnknownName, match="Did you mean 'theirs'"):
        tasks.task("their")


@pytest.mark.parametrize(
    ("group", "name", "value", "says"),
    [
        ("assay.methods", "halved", "tiny_assay:NOBODY", "cannot be loaded"),
        ("assay.methods", "halved", "nowhere", "No module named 'nowhere'"),
        ("assay.methods", "other", "tiny_assay:HALVED", "expected a module, came Like"),
        ("assay.tasks", "theirs", "tiny_assay:HALVED", "a Task of the name 'theirs', came Like"),
        ("assay.tasks", "other", "tiny_assay:TASK", "a Task of the name 'other'"),
        ("assay.tasks", "listed", "tiny_assay:LISTED", "expected a range"),
    ],
)
def test_what_is_wrong_with_an_offer(group: str, name: str, value: str, says: str, offering: Offering) -> None:
    """It is named, it is no name of ours, and whoever asks for it is told why."""
    wrong, good = offering((group, name, value), (group, *GOOD[group]))
    assert says in wrong.problem and not good.problem
    with pytest.raises(errors.UnknownName, match=re.escape(says)):
        raise errors.unknown("thing", name, ["others"], "assay list")


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_method(case: str, tmp_path: Path, offering: Offering) -> None:
    """Nothing of it is known then, and what was known stays."""
    before = [dict(table) for table in TABLES]
    old, new, says = WRONG[case]
    assert old in MODULE
    (tmp_path / "tiny_assay.py").write_text(
        MODULE.replace(old, new).replace(
            "gate=Half()", f"gate={new[6:]}()" if new.startswith("class") else "gate=Half()"
        )
    )
    (offer,) = offering(("assay.methods", "halved", "tiny_assay"))
    assert says in offer.problem
    assert [dict(table) for table in TABLES] == before


GOOD = {"assay.methods": ("halved", "tiny_assay"), "assay.tasks": ("theirs", "tiny_assay:TASK")}


def test_a_doctor_goes_on_where_a_package_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def burst() -> doctor.Check:
        raise OSError("libtorch is torn")

    monkeypatch.setattr(doctor, "_torch", burst)
    found = doctor.examination()
    assert found["torch"]["state"] == "warning" and "libtorch is torn" in found["torch"]["found"]
    assert found["python"]["state"] == "ok" and found["plugins"]["state"] == "ok"
