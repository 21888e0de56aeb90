"""What a wheel and a source distribution hold, and what must be true of it. A check returns what it found, in words; it
raises `Unfit` with what is wrong.
"""

from __future__ import annotations

import email
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import assay

ROOT = Path(__file__).parents[1]
BUILT = "assay/engine/native/built/"  # where a wheel has the compiled core
LIMITS: dict[str, dict[str, float]] = tomllib.loads(Path(__file__).with_name("release.toml").read_text())
HEADING = re.compile(r"^## \[(?P<version>[^]]+)\](?: - (?P<date>\S+))?$", re.MULTILINE)
UNDATED = "unreleased"


class Unfit(Exception):
    """What is wrong with a release, in one line."""


def need(fine: object, otherwise: str) -> None:
    if not fine:
        raise Unfit(otherwise)


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def megabytes(paths: Iterable[Path]) -> float:
    return sum(path.stat().st_size for path in paths) / 1e6


def within(what: str, size: float) -> str:
    """The size with its limit; Unfit above it."""
    most = LIMITS["megabytes"][what]
    need(size <= most, f"{what} has {size:.1f} MB, and may have {most:g} (tests/release.toml)")
    return f"{what} {size:.1f} MB of at most {most:g}"


# Before anything is built


def versions_agree() -> str:
    """The package, CITATION.cff and the newest heading of the changelog name one version, and one date if any."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    heading = HEADING.search((ROOT / "CHANGELOG.md").read_text())
    need(heading, "CHANGELOG.md has no heading such as `## [1.2.3] - 2026-01-31`")
    assert heading is not None
    told = {"assay": assay.__version__, "CITATION.cff": str(cited["version"]), "CHANGELOG.md": heading["version"]}
    need(
        len(set(told.values())) == 1, f"versions differ: {', '.join(f'{at} {version}' for at, version in told.items())}"
    )
    dates = {
        UNDATED if heading["date"] in (None, UNDATED) else heading["date"],
        str(cited.get("date-released", UNDATED)),
    }
    need(len(dates) == 1, f"CHANGELOG.md and CITATION.cff differ in the date: {', '.join(sorted(dates))}")
    return f"{assay.__version__}, {dates.pop()}"


def uncommitted() -> str:
    """Nothing that could come into a package differs from the commit."""
    changed = _git("status", "--porcelain").splitlines()
    need(not changed, f"not committed: {', '.join(line[3:] for line in changed[:5])}")
    return f"commit {_git('rev-parse', '--short=12', 'HEAD').strip()}"


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


# What was built


def built(folder: Path, kind: str, *, source: Path = ROOT, core: str = "") -> Path:
    """A package that hatchling makes of a source folder; `core` as in hatch_build.py."""
    before = set(folder.glob("*"))
    line = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(
        line, cwd=source, env=os.environ | {"ASSAY_WHEEL_CORE": core}, capture_output=True, text=True, check=False
    )
    need(done.returncode == 0, f"hatchling could not build the {kind}: {done.stderr.strip()[-600:]}")
    (made,) = set(folder.glob("*")) - before
    return made


def contents(wheel: Path) -> dict[str, str]:
    """The digest of each file of a wheel, by its name."""
    with zipfile.ZipFile(wheel) as packed:
        return {name: hashlib.sha256(packed.read(name)).hexdigest() for name in packed.namelist()}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(packed.read(name))


def files_of(wheel: Path) -> str:
    """The wheel holds the committed files of the package and the core, and nothing else beside its own records."""
    found = {name for name in contents(wheel) if ".dist-info/" not in name}
    core = {name for name in found if name.startswith(BUILT)}
    committed = set(_git("ls-files", "assay").splitlines())
    strange, missing = sorted(found - core - committed), sorted(committed - found)
    need(not strange, f"holds {', '.join(strange[:5])}, which is no committed file of the package")
    need(not missing, f"lacks {', '.join(missing[:5])}")
    need("assay/py.typed" in found, "lacks assay/py.typed: type checkers would not read the types")
    need(core, "lacks the compiled core")
    return f"{len(committed)} files of the package, {len(core)} of the core"


def same_from_source(wheel: Path, source: Path, scratch: Path) -> str:
    """The source distribution makes the same wheel, but for the core and the tag that it needs."""
    with tarfile.open(source) as packed:
        packed.extractall(scratch, filter="data")
    (unpacked,) = scratch.iterdir()
    need((unpacked / "CITATION.cff").exists(), "the source distribution lacks CITATION.cff")
    first, again = contents(wheel), contents(built(scratch, "wheel", source=unpacked))
    records = re.compile(r"\.dist-info/(RECORD|WHEEL)$")
    differ = [
        name
        for name in sorted({*first, *again})
        if first.get(name) != again.get(name) and not records.search(name) and not name.startswith(BUILT)
    ]
    need(not differ, f"of the source comes another wheel: {', '.join(differ[:5])}")
    return f"{len(again)} files of its wheel are the same"


def described(wheel: Path) -> str:
    """The metadata are those of pyproject.toml, and the text of the licence is there."""
    about, expected = metadata(wheel), project()
    told = {
        "Name": expected["name"],
        "Version": assay.__version__,
        "Requires-Python": ",".join(sorted(expected["requires-python"].split(","))),
        "License-Expression": expected["license"],
        "Summary": expected["description"],
    }
    for key, value in told.items():
        found = about[key] if key != "Requires-Python" else ",".join(sorted(str(about[key]).split(",")))
        need(found == value, f"{key} is {found!r}, and should be {value!r}")
    extras = set(about.get_all("Provides-Extra") or ())
    need(extras == set(expected["optional-dependencies"]), f"extras are {sorted(extras)}")
    with zipfile.ZipFile(wheel) as packed:
        texts = [packed.read(name) for name in packed.namelist() if name.endswith(".dist-info/licenses/LICENSE")]
        command = [packed.read(name).decode() for name in packed.namelist() if name.endswith("entry_points.txt")]
    need(texts == [(ROOT / "LICENSE").read_bytes()], "the text of the licence is not in it")
    need(command and "assay = assay.cli.main:main" in command[0], "the command `assay` is not in it")
    return f"{about['Name']} {about['Version']}, {about['License-Expression']}, Python {about['Requires-Python']}"


def shown(wheel: Path) -> str:
    """The text for the package index is Markdown, and no link or picture of it needs the files beside it."""
    about = metadata(wheel)
    need(about.get_content_type() and about["Description-Content-Type"] == "text/markdown", "the text is no Markdown")
    text = str(about.get_payload())
    lost = [target for target in targets(text) if not re.match(r"https://|mailto:|#", target)]
    need(not lost, f"links lead nowhere on a package index: {', '.join(lost[:5])}")
    page = MarkdownIt("commonmark").enable("table").render(text)
    need(page.startswith("<h1>"), "the text has no heading")
    return f"{len(text):,} characters, {page.count('<h2>')} sections, no link that needs the files"


def targets(text: str) -> list[str]:
    """Where the links and pictures of a Markdown text lead, those in HTML too."""
    tokens: list[Token] = MarkdownIt("commonmark").enable("table").parse(text)
    every = [inner for token in tokens for inner in (token, *(token.children or ()))]
    written = [str(token.attrs[name]) for token in every for name in ("href", "src") if name in token.attrs]
    pieces = " ".join(token.content for token in every if token.type in ("html_inline", "html_block"))
    return [*written, *re.findall(r"(?:href|src)=[\"']?([^\"'\s>]+)", pieces)]


def packages_of(lines: Iterable[str]) -> tuple[list[Distribution], list[str]]:
    """The packages of this environment that these requirements bring, with whatever those need, and the names of what
    is not here.
    """
    found: dict[str, Distribution] = {}
    absent = set[str]()
    waiting = list(map(Requirement, lines))
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in found or name in absent:
            continue
        try:
            found[name] = distribution(wanted.name)
        except PackageNotFoundError:
            absent.add(name)
            continue
        needed = map(Requirement, found[name].requires or ())
        waiting += [one for one in needed if _applies(one, wanted.extras)]
    return list(found.values()), sorted(absent)


def _applies(needed: Requirement, extras: Iterable[str]) -> bool:
    """Whether a package needs this here, when it is installed with these extras."""
    return needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in {"", *extras})
