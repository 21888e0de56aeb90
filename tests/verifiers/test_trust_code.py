"""A run folder that came from elsewhere runs no code of its own choosing."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from small_runs import Shell, copy_of, make_model, train_line

import assay
from assay.cli.main import main
from assay.errors import ConfigError
from assay.run.trust import code_of, require_trust

HONEST = "def near(completions, **rest):\n    return [float(len(c)) for c in completions]\n"
EVIL = "import pathlib\npathlib.Path({!r}).touch()\n" + HONEST


def edited(run: Path, change: Any) -> None:
    document = json.loads((run / "run.json").read_text())
    change(document)
    (run / "run.json").write_text(json.dumps(document))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model") / "small")


@pytest.fixture(scope="module")
def honest(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run that was rewarded by a file, and the file."""
    folder = tmp_path_factory.mktemp("honest")
    (folder / "near.py").write_text(HONEST)
    reward = ["--reward", f"{folder / 'near.py'}:near"]
    assert main([*train_line(model, folder / "run"), "--quiet", *reward, "--evaluation.every", "0"]) == 0
    return folder / "run", folder / "near.py"


@pytest.mark.slow
def test_code_added_to_a_run_folder_is_not_imported(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, shell = tmp_path / "run", Shell(capsys)
    assert shell(*train_line(model, run), "--quiet").code == 0
    (tmp_path / "evil.py").write_text(EVIL.format(str(tmp_path / "owned")))
    edited(run, lambda document: document["experiment"].update(rewards=[f"{tmp_path / 'evil.py'}:near"]))
    reply = shell("resume", run, "--steps", 5, "--quiet", "--json")
    assert reply.code == 78 and not (tmp_path / "owned").exists()
    message = reply.document["message"]
    assert "evil.py:near: run.json holds no digest of this code" in message and "--trust-code" in message
    assert shell("resume", run, "--steps", 5, "--quiet", "--trust-code").code == 0
    assert (tmp_path / "owned").exists()
    assert shell("resume", run, "--steps", 6, "--quiet").code == 0, "what was trusted once is the record from then on"


@pytest.mark.slow
def test_a_run_resumes_with_the_code_that_it_began_with(
    honest: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, file = copy_of(honest[0], tmp_path / "run"), honest[1]
    assert Shell(capsys)("resume", run, "--steps", 5, "--quiet").code == 0
    edited(run, lambda document: document.pop("code"))  # as older versions wrote it
    assert Shell(capsys)("resume", run, "--steps", 6, "--quiet").code == 0
    file.write_text(HONEST + "# changed\n")
    try:
        reply = Shell(capsys)("resume", run, "--steps", 7, "--quiet")
        assert reply.code == 78 and "the digest of its code is" in reply.err
        with pytest.raises(ConfigError, match="--trust-code"):
            assay.resume(run, steps=7, quiet=True)
        reply = Shell(capsys)("resume", run, "--steps", 7, "--quiet", "--trust-code")
        assert reply.code == 0 and "the source of the reward function 'near' has changed" in reply.err
    finally:
        file.write_text(HONEST)


@pytest.mark.slow
def test_no_other_verb_imports_what_a_run_folder_names(
    honest: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, shell = copy_of(honest[0], tmp_path / "run"), Shell(capsys)
    (tmp_path / "evil.py").write_text(EVIL.format(str(tmp_path / "owned")))
    edited(run, lambda document: document["experiment"].update(rewards=[f"{tmp_path / 'evil.py'}:near"]))
    lines: list[tuple[object, ...]] = [
        ("sample", run, "C 3 7 5=24", "--max-new", 2),
        ("eval", run, "--task", "countdown:3", "--problems", 2, "--n", 2),
        ("report", run),
        ("compare", run, honest[0]),
        ("export", run, tmp_path / "exported"),
        ("doctor", "--model", run),
    ]
    for line in lines:
        assert shell(*line).code in (0, 64), line
    assert not (tmp_path / "owned").exists()


def document(rewards: list[str], **more: Any) -> dict[str, Any]:
    return {"code": code_of(rewards), **more}


def doubts(run: Path, rewards: list[str], recorded: dict[str, Any], *given: str) -> str:
    try:
        require_trust(run, rewards, recorded, given=given, trusted=False)
    except ConfigError as error:
        return str(error)
    return ""


def test_what_a_record_vouches_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, outside = tmp_path / "run", tmp_path / "outside.py"
    run.mkdir()
    for path in (outside, run / "inside.py"):
        path.write_text(HONEST)
    monkeypatch.chdir(tmp_path)
    whole, inside, relative = f"{outside}:near", f"{run / 'inside.py'}:near", "./outside.py:near"
    assert not doubts(run, [whole], document([whole]))
    assert "lies in the run folder" in doubts(run, [inside], document([inside]))
    assert "relative path" in doubts(run, [relative], document([relative]))
    assert not doubts(run, [whole], {}, "near"), "a function that the program brings is its own"
    assert not doubts(run, [f"{tmp_path / 'missing.py'}:near"], {}), "it is told as missing, where it is loaded"
    link = tmp_path / "link.py"
    link.symlink_to(run / "inside.py")
    assert "lies in the run folder" in doubts(run, [f"{link}:near"], document([f"{link}:near"]))


def test_modules_are_compared_before_they_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing `package.rewards` runs the package too, so that its digest covers both files."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "rewards.py").write_text(HONEST)
    monkeypatch.chdir(tmp_path)
    rewards = ["package.rewards:near"]
    recorded = document(rewards)
    assert not doubts(tmp_path / "run", rewards, recorded)
    (tmp_path / "package" / "__init__.py").write_text(EVIL.format(str(tmp_path / "owned")))
    assert "the digest of its code is" in doubts(tmp_path / "run", rewards, recorded)
    assert not (tmp_path / "owned").exists()
    for place in ("builtins", "nowhere", "package.nowhere"):
        assert "holds no digest" in doubts(tmp_path / "run", [f"{place}:print"], {"code": {}})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "runs"), [("y\n", True), ("\n", False), ("no\n", False), ("", False)])
def test_at_a_terminal_a_person_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, runs: bool
) -> None:
    (tmp_path / "near.py").write_text(HONEST)
    asked = Terminal()
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    monkeypatch.setattr("sys.stderr", asked)
    assert (doubts(tmp_path / "run", [f"{tmp_path / 'near.py'}:near"], {}) == "") == runs
    assert "near.py:near: run.json holds no digest of this code" in asked.getvalue() and "[y/N]" in asked.getvalue()
