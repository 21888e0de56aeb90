"""User numbers of sandboxes: one of its own for each slot, within what the container maps, whatever the process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.sandbox.surroundings import own_user

MAPS = {"the whole machine": "0 0 4294967295\n", "a rootless container": "0 1000 1\n1 100000 65536\n"}


@pytest.mark.parametrize(
    ("text", "most"), [(MAPS["the whole machine"], 1 << 31), (MAPS["a rootless container"], 65537)]
)
@pytest.mark.parametrize("process", [1, 2, 63, 64, 1000, 4_194_304])
def test_numbers_are_mapped_different_and_nobodys(
    text: str, most: int, process: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self: text)
    monkeypatch.setattr(os, "getpid", lambda: process)
    users = [own_user(number) for number in range(64)]
    assert len(set(users)) == 64 and all(0 < user < most for user in users)


def test_slots_of_two_processes_have_different_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self: MAPS["the whole machine"])
    users = []
    for process in (70, 71):
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        users.append({own_user(number) for number in range(64)})
    assert not users[0] & users[1]


def test_a_container_that_maps_root_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self: "0 1000 1\n")
    with pytest.raises(ConfigError, match="maps root alone"):
        own_user(0)
