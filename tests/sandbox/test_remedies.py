"""What a machine that closes a level is said to need: the setting, the package or the option, by its name."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from assay.sandbox import levels, remedies
from assay.sandbox.inside import confine
from assay.sandbox.probe import Probed


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine of a login user on which nothing closes a level: its settings are files in the folder."""
    monkeypatch.setattr(remedies, "SETTINGS", tmp_path)
    monkeypatch.setattr(confine, "landlock_error", lambda: 0)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(remedies.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(remedies, "_in_container", lambda: False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces="),
        ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "apparmor_parser -r /etc/apparmor.d/bwrap-userns-"),
    ],
)
def test_a_setting_that_closes_user_namespaces_is_named(machine: Path, name: str, value: str, words: str) -> None:
    assert remedies.remedies("L2") == []
    (machine / name).parent.mkdir()
    (machine / name).write_text(f"{value}\n")
    (said,) = remedies.remedies("L2")
    assert words in said and f"{name.replace('/', '.')} is {value}" in said
    assert remedies.remedies("L1") == [], "the lower level has no need of namespaces"
    (machine / name).write_text("1\n" if value == "0" else "0\n")
    assert remedies.remedies("L2") == []


def test_missing_bubblewrap_is_said_with_the_line_that_installs_it(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remedies.shutil, "which", lambda name: None)
    (said,) = remedies.remedies("L2")
    assert "apt-get install bubblewrap" in said and remedies.remedies("L1") == []


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.ENOSYS, "Linux 5.13"), (errno.EOPNOTSUPP, "lsm=landlock"), (errno.EPERM, "seccomp=FILE")],
)
def test_missing_landlock_is_said_by_what_the_kernel_answers(
    machine: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    monkeypatch.setattr(confine, "landlock_error", lambda: number)
    for level in levels.LEVELS:
        (said,) = remedies.remedies(level)
        assert words in said


def test_root_without_the_right_to_namespaces_is_said(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(Path, "read_text", lambda self: "Name:\tx\nCapEff:\t00000000a80425fb\n")  # of a container
    (said,) = remedies.remedies("L2")
    assert "CAP_SYS_ADMIN" in said and "--cap-add SYS_ADMIN" in said
    monkeypatch.setattr(Path, "read_text", lambda self: "CapEff:\t000001fffeffffff\n")
    assert remedies.remedies("L2") == []


def test_a_container_is_said_to_a_user_whose_namespaces_may_be_refused(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remedies, "_in_container", lambda: True)
    (said,) = remedies.remedies("L2")
    assert "seccomp=unconfined" in said


def test_the_kernel_of_these_tests_is_asked_as_landlock_answers() -> None:
    assert (confine.landlock_error() == 0) == (confine.landlock_version() > 0)


def test_what_holds_is_told_with_why_nothing_stronger_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "probed", lambda level: Probed(level, ("it cannot be started",)))
    monkeypatch.setattr(levels, "remedies", lambda level: ["`sysctl x`"])
    assert levels.above(Probed("L1", ())) == "L2 does not hold: it cannot be started; `sysctl x`"
    assert levels.above(Probed("L2", ())) == ""
