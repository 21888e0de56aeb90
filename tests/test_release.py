"""What `make release` asks, tried on packages that lack what they should have; and versions, licences, citation and
targets of make as they are. Installing is left to `make release` itself.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import licences
import packaged
import pytest
import release
import yaml
from packaged import Unfit
from small_runs import ROOT

import assay
from assay.lab.doctor import examination

EXTRA = re.compile(r"assay-rl\[([\w,-]+)\]")


# Licences


def distribution(folder: Path, *lines: str, text: str | None = None) -> Distribution:
    """An installed package with these lines in its metadata, and with a text of a licence beside them."""
    place = folder / "thing-1.dist-info"
    place.mkdir()
    (place / "METADATA").write_text("\n".join(["Metadata-Version: 2.4", "Name: thing", "Version: 1", *lines]))
    if text is not None:
        (place / "LICENSE").write_text(text)
        (place / "RECORD").write_text("thing-1.dist-info/LICENSE,,\n")
    return PathDistribution(place)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["License-Expression: MIT"], "MIT"),
        (["License-Expression: MIT", "Classifier: License :: OSI Approved :: BSD License"], "MIT"),
        (["License: BSD"], "BSD-3-Clause"),
        (["License: MPL-2.0 AND MIT"], "MPL-2.0 AND MIT"),
        (["Classifier: License :: OSI Approved :: MIT License", "License: see the files"], "MIT"),
        (["Classifier: License :: OSI Approved", "License: MIT"], "MIT"),
        (["Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)", "License: MIT"], ""),
        (["License: Copyright (c) of somebody"], ""),
        ([], ""),
    ],
)
def test_a_package_says_its_licence_in_one_of_three_ways(tmp_path: Path, lines: list[str], expected: str) -> None:
    assert licences.licence_of(distribution(tmp_path, *lines)) == expected


@pytest.mark.parametrize(
    ("expression", "fine"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND BSD-3-Clause", True),
        ("MIT AND GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("MIT OR GPL-3.0-only AND LGPL-3.0-only", True),
        ("(MIT OR GPL-3.0-only) AND LGPL-3.0-only", False),
        ("(GPL-3.0-only OR (MIT AND Zlib)) AND PSF-2.0", True),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0 WITH GCC-exception-3.1", False),
        ("MIT AND", False),
        ("(MIT", False),
        ("MIT)", False),
        ("MIT Zlib", False),
        ("", False),
    ],
)
def test_an_expression_is_allowed_if_its_words_are(expression: str, fine: bool) -> None:
    assert licences.allowed(expression) is fine


def test_a_package_that_may_not_come_along_is_named_with_what_it_says(tmp_path: Path) -> None:
    package = distribution(tmp_path, "License: Beerware")
    assert list(licences.unfit([package])) == ["thing 1 (Beerware)"]


def test_a_text_that_a_person_read_counts_as_long_as_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256(b"do what you like").hexdigest()
    monkeypatch.setattr(licences, "READ", {"thing": {"licence": "MIT", "sha256": digest}})
    (tmp_path / "same").mkdir()
    (tmp_path / "other").mkdir()
    assert licences.licence_of(distribution(tmp_path / "same", text="do what you like")) == "MIT"
    assert licences.licence_of(distribution(tmp_path / "other", text="do what we like")) == ""


def test_requirements_bring_what_they_need_and_name_what_is_not_here() -> None:
    found, absent = packaged.packages_of(["rich", "no-such-package>=1"])
    assert {"rich", "markdown-it-py", "mdurl"} <= {package.metadata["Name"] for package in found}
    assert absent == ["no-such-package"]


def test_what_extras_bring_may_come_along() -> None:
    assert "packages of" in release.licensed_extras()


# Versions and citation


def test_package_citation_and_changelog_name_one_version() -> None:
    assert packaged.versions_agree().startswith(assay.__version__)


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("CITATION.cff", r"^version: .*", "version: 9.9.9", "CITATION.cff 9.9.9"),
        ("CITATION.cff", r"^version:", "date-released: 2026-01-31\nversion:", "2026-01-31, unreleased"),
        ("CHANGELOG.md", r"^## \[.*", "## [9.9.9] - unreleased", "CHANGELOG.md 9.9.9"),
        ("CHANGELOG.md", r"^## \[.*", "## Version 9", "no heading"),
    ],
)
def test_versions_that_differ_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str, says: str
) -> None:
    for copied in ("CITATION.cff", "CHANGELOG.md"):
        shutil.copy(ROOT / copied, tmp_path)
    text = (tmp_path / name).read_text()
    (tmp_path / name).write_text(re.sub(old, new, text, count=0 if "Version" in new else 1, flags=re.MULTILINE))
    monkeypatch.setattr(packaged, "ROOT", tmp_path)
    with pytest.raises(Unfit, match=re.escape(says)):
        packaged.versions_agree()


def test_the_citation_has_what_its_format_requires() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software"
    assert cited["message"] and cited["title"] == "Assay"
    assert all(isinstance(author, dict) and author["name"] for author in cited["authors"])
    assert cited["license"] == packaged.project()["license"]
    known = {"cff-version", "message", "title", "abstract", "type", "authors", "version", "license", "keywords"}
    assert set(cited) - {"date-released"} == known


# Packages


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packaged.built(tmp_path_factory.mktemp("dist"), "wheel")


def changed(wheel: Path, folder: Path, change: Callable[[str, bytes], Mapping[str, bytes]]) -> Path:
    """The wheel with other files in place of each of its files."""
    made = folder / wheel.name
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            for changed_name, data in change(name, old.read(name)).items():
                new.writestr(changed_name, data)
    return made


def with_core(name: str, data: bytes) -> dict[str, bytes]:
    return {name: data} | ({f"{packaged.BUILT}core.so": b"code"} if name == "assay/py.typed" else {})


@pytest.mark.slow
def test_a_wheel_holds_what_is_committed_and_the_core(wheel: Path, tmp_path: Path) -> None:
    committed = subprocess.run(["git", "status", "--porcelain", "assay"], cwd=ROOT, capture_output=True, text=True)
    if committed.stdout:
        pytest.skip(f"files of the package are not committed: {committed.stdout.split()[1]}")
    with pytest.raises(Unfit, match="lacks the compiled core"):
        packaged.files_of(wheel)
    assert "1 of the core" in packaged.files_of(changed(wheel, tmp_path, with_core))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda name, data: {} if name == "assay/py.typed" else {name: data}, "lacks assay/py.typed"),
        (lambda name, data: {name: data} | ({"tests/own.py": b""} if name.endswith("RECORD") else {}), "tests/own.py"),
    ],
)
def test_a_wheel_with_other_files_is_refused(
    wheel: Path, tmp_path: Path, change: Callable[[str, bytes], Mapping[str, bytes]], says: str
) -> None:
    with pytest.raises(Unfit, match=says):
        packaged.files_of(changed(wheel, tmp_path, change))


@pytest.mark.slow
def test_metadata_are_those_of_the_project(wheel: Path) -> None:
    about = packaged.described(wheel)
    assert about.startswith(f"assay-rl {assay.__version__}, Apache-2.0, Python ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("METADATA", b"Version: 0", b"Version: 9", "Version is '9"),
        ("METADATA", b"Requires-Python: ", b"Requires-Python: !=3.12.1,", "Requires-Python"),
        ("METADATA", b"License-Expression: Apache-2.0", b"License-Expression: MIT", "License-Expression"),
        ("METADATA", b"Provides-Extra: yaml", b"Provides-Extra: xml", "extras"),
        ("licenses/LICENSE", b"Apache", b"Apache's", "text of the licence"),
        ("entry_points.txt", b"assay.cli", b"assay.cle", "command"),
    ],
)
def test_other_metadata_are_refused(wheel: Path, tmp_path: Path, name: str, old: bytes, new: bytes, says: str) -> None:
    def change(file: str, data: bytes) -> dict[str, bytes]:
        assert not file.endswith(name) or old in data
        return {file: data.replace(old, new)} if file.endswith(name) else {file: data}

    with pytest.raises(Unfit, match=says):
        packaged.described(changed(wheel, tmp_path, change))


@pytest.mark.slow
def test_the_page_of_the_index_needs_no_file_beside_it(wheel: Path, tmp_path: Path) -> None:
    assert "no link that needs the files" in packaged.shown(wheel)

    def linking(file: str, data: bytes) -> dict[str, bytes]:
        return {file: data + b"\n[more](docs/more.md)\n" if file.endswith("METADATA") else data}

    with pytest.raises(Unfit, match=r"docs/more\.md"):
        packaged.shown(changed(wheel, tmp_path, linking))


def test_links_and_pictures_are_found_however_they_are_written() -> None:
    text = "[a](b.md) ![c](d.svg) <https://e.org>\n\n| f |\n|---|\n| [g](h) |\n\n"
    text += "<img src='i.png'> <a href=j>k</a>\n\n`[l](m)`\n"
    assert sorted(packaged.targets(text)) == ["b.md", "d.svg", "h", "https://e.org", "i.png", "j"]


@pytest.mark.slow
def test_a_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    source = packaged.built(tmp_path, "sdist")
    with tarfile.open(source) as packed:
        folders = {name.split("/")[1] for name in packed.getnames()}
    assert {"assay", "docs", "examples", "SECURITY.md"} <= folders and not folders & {"tests", "bench", ".ci"}
    assert "the same" in packaged.same_from_source(wheel, source, tmp_path / "one")
    other = changed(wheel, tmp_path, lambda name, data: {name: data + b"#" if name == "assay/rng.py" else data})
    with pytest.raises(Unfit, match=r"assay/rng\.py"):
        packaged.same_from_source(other, source, tmp_path / "two")


def test_a_package_may_be_so_large_and_not_larger() -> None:
    most = packaged.LIMITS["megabytes"]["wheel"]
    assert packaged.within("wheel", most)
    with pytest.raises(Unfit, match="may have"):
        packaged.within("wheel", most + 0.2)


# The program


def test_every_check_is_a_line_and_those_that_failed_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> str:
        raise Unfit("no wheel turns")

    told = release.Told()
    assert told.ask("first", lambda: "fine") and not told.ask("second", broken)
    assert not told.ask("third", lambda: {}["wheel"])
    assert told.failed == ["second", "third"]
    shown = capsys.readouterr()
    first, second, third = shown.out.splitlines()
    assert first.startswith("ok      first: fine") and second.startswith("FAILED  second: no wheel turns")
    assert third.startswith("FAILED  third: the check itself broke: KeyError: 'wheel'")
    assert "Traceback" in shown.err


def test_a_slow_start_is_tried_on_and_not_for_ever() -> None:
    assert release.fastest(iter([0.3, 0.2] + [0.4] * 5).__next__, 0.25) == 0.2
    assert release.fastest(iter([0.3] * 7 + [0.1]).__next__, 0.25) == 0.1
    assert release.fastest(iter([0.3] * release.TRIES).__next__, 0.25) == 0.3


def test_the_example_of_both_pages_is_one_and_runs_few_steps() -> None:
    code = release.example()
    assert f"steps={release.EXAMPLE_STEPS}" in code and "assay.train(" in code
    compile(code, "example.py", "exec")


def test_a_place_sees_neither_this_checkout_nor_its_compilers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = ("CC", "CXX", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "ASSAY_CORE", "VIRTUAL_ENV")
    for name in hidden:
        monkeypatch.setenv(name, "here")
    seen = release.Place("wheel", tmp_path, "/somewhere").environment()
    assert not set(hidden) & set(seen)
    assert seen["PATH"] == f"{tmp_path}/venv/bin:/somewhere" and seen["ASSAY_CACHE"].startswith(str(tmp_path.parent))


def test_a_command_that_fails_is_named_with_its_last_words(tmp_path: Path) -> None:
    place = release.Place("wheel", tmp_path, "/bin:/usr/bin")
    place.work.mkdir()
    with pytest.raises(Unfit, match=r"`sh -c .*` ended with 3:\nalas"):
        place.run("sh", "-c", "echo alas; exit 3")


# make


def dry(target: str, folder: Path) -> str:
    """What make would do in a new clone."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return subprocess.run(["make", "-n", target], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("target", ["demo", "demo-real"])
def test_a_demo_installs_what_a_run_needs(target: str, tmp_path: Path) -> None:
    lines = dry(target, tmp_path)
    assert "--editable ." in lines and "--group" not in lines and "gym" not in lines


@pytest.mark.parametrize("target", ["install", "test-fast", "check", "release"])
def test_what_tests_needs_everything(target: str, tmp_path: Path) -> None:
    lines = dry(target, tmp_path)
    assert lines.index("--editable .") < lines.index("--group dev --editable '.[gym,control]'")


# Extras


def test_every_extra_that_is_advised_exists() -> None:
    files = [*(ROOT / "assay").rglob("*.py"), *ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    advised = {extra for file in files for names in EXTRA.findall(file.read_text()) for extra in names.split(",")}
    extras = set(packaged.project()["optional-dependencies"])
    assert advised and advised <= extras
    page = (ROOT / "docs/package.md").read_text()
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == extras


def test_the_doctor_advises_the_extra_that_brings_the_package() -> None:
    extras = packaged.project()["optional-dependencies"]
    for name, check in examination().items():
        for extra in EXTRA.findall(check["advice"]):
            brought, absent = packaged.packages_of(extras[extra])
            assert name in {*absent, *(package.metadata["Name"] for package in brought)}
