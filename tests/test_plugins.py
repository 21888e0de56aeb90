"""Another package's recipe and part, installed by pip from a wheel, work like ours; a broken one says what is wrong."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from assay import plugins
from assay.configure import SLOTS
from assay.errors import AssayError
from assay.recipes import RECIPES

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
MODULE = '''
import dataclasses

from assay.objective import Objective
from assay.part import Part
from assay.recipes.grpo import GRPO


@dataclasses.dataclass(frozen=True)
class Half(Part):
    """Half of the ratio."""

    factor: float = 0.5


def half(ratio, advantage, *, factor):
    """g = factor w."""
    return factor * ratio


GATE = Half, half
GOAL = Objective(gate=Half(), aggregate=GRPO.mechanism.objective.aggregate)
MECHANISM = dataclasses.replace(GRPO.mechanism, objective=GOAL)
HALVED = dataclasses.replace(GRPO, name="halved", title="Half as hard", paper="-", claim="none", mechanism=MECHANISM)
'''
OFFERS = {"assay.recipes": {"halved": "tiny_assay:HALVED"}, "assay.parts": {"gate:half": "tiny_assay:GATE"}}


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


def test_a_recipe_and_a_part_of_another_package(tmp_path: Path) -> None:
    place = installed(tmp_path)
    listed = json.loads(assay(place, "list", "recipes", "--json").stdout)
    assert "halved" in [row["name"] for row in listed]
    explained = json.loads(assay(place, "explain", "halved", "--json").stdout)
    assert explained["factors"]["gate"][0]["title"] == "half(factor=0.5)"
    assert explained["on_policy"] == {"right": 0.5, "wrong": 0.5}
    parts = [row["name"] for row in json.loads(assay(place, "list", "parts", "--json").stdout)]
    assert "gate:half" in parts
    planned = assay(place, "train", "grpo", "--mechanism.objective.gate", "half", "--dry-run", "--json")
    assert json.loads(planned.stdout)["recipe"]["mechanism"]["objective"]["gate"]["part"] == "half"


def test_a_package_that_takes_a_name_of_ours_is_named(tmp_path: Path) -> None:
    done = assay(installed(tmp_path, {"assay.parts": {"gate:clip": "tiny_assay:GATE"}}), "list", "recipes")
    assert done.returncode == 78
    assert done.stderr.startswith("ConfigError: the package 'tiny-assay' offers 'gate:clip', and there is one already")


@pytest.mark.parametrize(
    ("group", "name", "value", "says"),
    [
        ("assay.recipes", "halved", "tiny_assay:NOBODY", "cannot be loaded"),
        ("assay.recipes", "halved", "nowhere:HALVED", "No module named 'nowhere'"),
        ("assay.recipes", "other", "tiny_assay:HALVED", "a Recipe of the name 'other'"),
        ("assay.parts", "gaet:half", "tiny_assay:GATE", "Did you mean 'gate'"),
        ("assay.parts", "gate", "tiny_assay:GATE", "slot"),
        ("assay.parts", "gate:half", "tiny_assay:HALVED", "a pair (Record, function)"),
    ],
)
def test_what_is_wrong_with_an_offer(
    group: str, name: str, value: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny_assay.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    entry = EntryPoint(name, value, group)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [entry] if group == entry.group else [])
    with pytest.raises(AssayError, match=re.escape(says)):
        plugins.add_parts(SLOTS)  # type: ignore[arg-type]
        plugins.add_recipes(RECIPES)
