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
from assay.known import RECIPES
from assay.record.folder import RunFolder
from assay.run.experiment import Experiment
from assay.run.trust import Trust, remember, require_trust
from assay.source import Pool, Share

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
    assert "evil.py:near: no command of yours has allowed that to this run" in message and "--trust-code" in message
    assert shell("resume", run, "--steps", 5, "--quiet", "--trust-code").code == 0
    assert (tmp_path / "owned").exists()
    assert shell("resume", run, "--steps", 6, "--quiet").code == 0, "what was trusted once is the record from then on"


@pytest.mark.slow
def test_a_run_resumes_with_the_code_that_it_began_with(
    honest: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, file = copy_of(honest[0], tmp_path / "run"), honest[1]
    assert Shell(capsys)("resume", run, "--steps", 5, "--quiet").code == 0
    edited(run, lambda document: document.pop("code"))  # as older versions wrote it
    assert Shell(capsys)("resume", run, "--steps", 6, "--quiet").code == 0, "this user allowed the code to this run"
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "of another user"))
    reply = Shell(capsys)("resume", copy_of(honest[0], tmp_path / "other"), "--steps", 5, "--quiet")
    assert reply.code == 78, "whoever made the folder wrote the digest of its code too"
    monkeypatch.undo()
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


def experiment_of(*rewards: str) -> Experiment:
    return Experiment(RECIPES["grpo"], "countdown", Pool((Share("countdown", (3,)),)), rewards=rewards)


def folder_of(path: Path, *rewards: str) -> RunFolder:
    """A run folder, whose owner began it with these reward functions if there are any."""
    with RunFolder.create(path, identity={}) as folder:
        remember(folder, experiment_of(*rewards))
    return folder


def doubts(folder: RunFolder, rewards: list[str], *given: str) -> str:
    try:
        require_trust(folder, experiment_of(*rewards), Trust(functions=given))
    except ConfigError as error:
        return str(error)
    return ""


def test_what_a_record_vouches_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, outside = tmp_path / "run", tmp_path / "outside.py"
    whole, inside, relative = f"{outside}:near", f"{run / 'inside.py'}:near", "./outside.py:near"
    monkeypatch.chdir(tmp_path)
    outside.write_text(HONEST)
    folder = folder_of(run, whole, relative)
    (run / "inside.py").write_text(HONEST)
    assert not doubts(folder, [whole])
    remember(folder, experiment_of(inside))
    assert "lies in the run folder" in doubts(folder, [inside])
    assert "relative path" in doubts(folder, [relative])
    other = folder_of(tmp_path / "other")
    assert "no command of yours" in doubts(other, [whole])
    assert not doubts(other, [whole], "near"), "a function that the program brings is its own"
    assert not doubts(other, [f"{tmp_path / 'missing.py'}:near"]), "it is told as missing, where it is loaded"
    link = tmp_path / "link.py"
    link.symlink_to(run / "inside.py")
    remember(folder, experiment_of(f"{link}:near"))
    assert "lies in the run folder" in doubts(folder, [f"{link}:near"])


def test_modules_are_compared_before_they_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing `package.rewards` runs the package too, so that its digest covers both files."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "rewards.py").write_text(HONEST)
    monkeypatch.chdir(tmp_path)
    rewards = ["package.rewards:near"]
    folder = folder_of(tmp_path / "run", *rewards)
    assert not doubts(folder, rewards)
    (tmp_path / "package" / "__init__.py").write_text(EVIL.format(str(tmp_path / "owned")))
    assert "the digest of its code is" in doubts(folder, rewards)
    assert not (tmp_path / "owned").exists()
    for place in ("builtins", "nowhere", "package.nowhere"):
        assert "no command of yours" in doubts(folder_of(tmp_path / place), [f"{place}:print"])


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
    assert (doubts(folder_of(tmp_path / "run"), [f"{tmp_path / 'near.py'}:near"]) == "") == runs
    assert "near.py:near: no command of yours has allowed that" in asked.getvalue() and "[y/N]" in asked.getvalue()
