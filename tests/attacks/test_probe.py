"""The probe: it holds where everything works, and refuses when any one layer is only pretended."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from canaries import Left

from assay.errors import ConfigError
from assay.sandbox import Execution, Probed, Sandbox, levels, probe, probed
from assay.sandbox.inside import calls, confine
from assay.sandbox.levels import LEVELS

pytestmark = [pytest.mark.external("sandbox"), pytest.mark.slow]
OF_BOTH = ["landlock", "filter", "limits", "deadline", "environment"]
LAYERS = [("L2", layer) for layer in [*OF_BOTH, "mounts", "network", "processes"]] + [("L1", one) for one in OF_BOTH]


def held(level: str) -> None:
    found = next(probed(one) for one in LEVELS if one == level)
    if not found.holds:
        pytest.skip(f"{level} does not hold here: {'; '.join(found.problems)}")


@pytest.mark.parametrize("level", LEVELS)
def test_the_probe_leaves_nothing_behind(level: str) -> None:
    held(level)
    before = Left.now()
    found = probe(next(one for one in LEVELS if one == level))
    assert found.problems == ()
    after = Left.now()
    assert (after.processes, after.descriptors, after.groups) == (before.processes, before.descriptors, before.groups)
    facts = dict(found.facts)
    assert facts["level"] == level and int(facts["landlock"]) >= 1


@pytest.mark.parametrize(("level", "layer"), LAYERS)
def test_a_level_without_one_of_its_layers_is_refused(level: str, layer: str) -> None:
    held(level)
    found = probe(next(one for one in LEVELS if one == level), without=(layer,))
    assert not found.holds


def test_root_programs_run_under_a_user_of_their_own() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give programs a user of their own")
    held("L1")
    found = probe("L1", without=("user",))
    assert any("user" in problem for problem in found.problems)
    with Sandbox("L1", count=1) as sandbox:
        (ran,) = sandbox.map([Execution("import os\nprint(os.getuid(), os.getgid(), os.getgroups())")])
    user, group, groups = ran.output.decode().split(maxsplit=2)
    assert user == group and int(user) > 1000 and groups == "[]\n"


def test_without_bubblewrap_the_upper_level_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = probe("L2")
    assert found.problems == ("bubblewrap is not installed: run `apt-get install bubblewrap`",)


def test_a_bubblewrap_that_cannot_make_namespaces_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create a new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (problem,) = probe("L2").problems
    assert "cannot be started" in problem and "No permissions" in problem


def test_a_container_without_user_numbers_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(number: int) -> int:
        raise ConfigError("it maps root alone. Map more of them.")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("assay.sandbox.surroundings.own_user", none)
    for level in LEVELS:
        assert probe(level).problems == ("it cannot be started: it maps root alone. Map more of them",)


def test_a_sandbox_of_another_python_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    held("L1")
    monkeypatch.setattr(sys.modules[probe.__module__], "VERSION", "3.99.1")
    (problem,) = probe("L1").problems
    assert "and that of this process is 3.99.1" in problem


def test_other_machines_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    (problem,) = probe("L1").problems
    assert "Linux on x86_64 and Linux on aarch64" in problem and "riscv64" in problem


def test_a_kernel_without_landlock_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confine, "landlock_version", lambda: 0)
    assert "no Landlock" in probe("L1").problems[0]


def test_where_no_level_holds_no_program_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_probed", {})
    monkeypatch.setattr(levels, "probe", lambda level: Probed(level, (f"{level} is broken",)))
    monkeypatch.delenv(levels.OVERRIDE, raising=False)
    monkeypatch.setattr(levels, "remedies", lambda level: ["`apt-get install x`"] if level == "L2" else [])
    with pytest.raises(ConfigError, match=r"none runs.*L2 is broken.*L1 is broken.*`apt-get install x`\.") as caught:
        levels.opened()
    assert caught.value.exit_code == 78
    monkeypatch.setattr(levels, "remedies", lambda level: [])
    with pytest.raises(ConfigError, match=r"none runs.*L1 is broken\. docs/sandbox.md.*what each level needs"):
        levels.opened()


def test_the_lower_level_is_taken_where_the_upper_one_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_probed", {})
    monkeypatch.setattr(levels, "probe", lambda level: Probed(level, ("broken",) if level == "L2" else ()))
    monkeypatch.delenv(levels.OVERRIDE, raising=False)
    assert levels.chosen().level == "L1"
    with pytest.raises(ConfigError, match="L2: broken"):
        levels.chosen(least="L2")
    monkeypatch.setenv(levels.OVERRIDE, "L7")
    with pytest.raises(ConfigError, match="L2 or L1, not 'L7'"):
        levels.chosen()


def test_the_filter_names_calls_by_the_numbers_of_both_machines() -> None:
    """Numbers that were looked up in the kernel's own tables, one of each table of the filter."""
    assert calls.ALWAYS["read"] == (0, 63) and calls.ALWAYS["exit_group"] == (231, 94)
    assert calls.FILES["renameat2"] == (316, 276) and calls.ASKED["openat"] == (257, 56)
    forbidden = {"ptrace": (101, 117), "execve": (59, 221), "socket": (41, 198), "kill": (62, 129), "bpf": (321, 280)}
    for column in (0, 1):
        allowed = {numbers[column] for table in (calls.ALWAYS, calls.FORKS, calls.FILES) for numbers in table.values()}
        assert not allowed & {numbers[column] for numbers in forbidden.values()}
