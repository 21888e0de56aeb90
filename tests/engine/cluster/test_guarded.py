"""Ray's token mode: what is asked of a cluster that a run joins, and of the environment, before Ray is asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from ray_clusters import cluster_of

from assay.engine.cluster.guarded import MODE, TOKEN, TOKEN_FILE, require_guarded, require_token
from assay.engine.cluster.nodes import Cluster
from assay.errors import ConfigError, EndpointError

HEAD = "10.0.0.4:6379"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a token of the user's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("mode", ["", "token"])
@pytest.mark.parametrize("how", [{TOKEN: "t"}, {TOKEN_FILE: "/run/token"}])
def test_a_token_is_given_by_a_variable_or_a_file(mode: str, how: dict[str, str]) -> None:
    require_token(how, HEAD, mode)


def test_a_token_is_that_of_the_users_home_too(home: Path) -> None:
    with pytest.raises(ConfigError, match=rf"cluster at {HEAD} is joined in Ray's token mode alone: set {MODE}=token"):
        require_token({}, HEAD, "")
    (home / ".ray").mkdir()
    (home / ".ray" / "auth_token").write_text("t")
    require_token({}, HEAD, "")


def test_a_person_who_has_turned_tokens_off_is_told_that_none_is_joined_so() -> None:
    with pytest.raises(ConfigError, match=rf"set {MODE}=token and {TOKEN}, or {TOKEN_FILE}"):
        require_token({TOKEN: "t"}, HEAD, "disabled")


@pytest.mark.scale
def test_a_cluster_that_takes_orders_from_anybody_is_not_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ray starts one by `ray start --head` unless it is told otherwise."""
    import os
    import subprocess
    import sys

    program = (
        "import ray, sys; ray.init('local', include_dashboard=False, object_store_memory=80 << 20, num_cpus=1); "
        "print(ray.get_runtime_context().gcs_address, flush=True); sys.stdin.read()"
    )
    monkeypatch.setenv(TOKEN, "0" * 64)
    environment = {**os.environ, MODE: "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as head:
        assert head.stdout is not None and head.stdin is not None
        try:
            address = next(line.strip() for line in head.stdout if ":" in line)
            with pytest.raises(ConfigError, match=f"cluster at {address} takes orders from anybody"):
                require_guarded(address)
            with pytest.raises(ConfigError, match="takes orders from anybody"):
                Cluster(address, folder=tmp_path)
        finally:
            head.stdin.close()
            head.wait(timeout=60)


@pytest.mark.scale
def test_a_cluster_in_token_mode_is_joined_by_its_token_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster_of(1) as cluster:
        require_guarded(cluster.address)
        with Cluster(cluster.address, folder=tmp_path) as joined:
            assert not joined.facts["ours"]
        monkeypatch.setenv(TOKEN, "1" * 64)
        with pytest.raises(EndpointError):
            Cluster(cluster.address, folder=tmp_path)


@pytest.mark.scale
def test_a_cluster_that_does_not_start_in_time_is_no_bug_of_ours(tmp_path: Path) -> None:
    """On a machine with too much to do Ray gives up with an exception of no kind; a resume may do better."""
    import subprocess
    import sys

    program = (
        "import ray, sys\n"
        "from pathlib import Path\n"
        "from assay.engine.cluster.broker import Broker\n"
        "from assay.errors import EndpointError\n"
        "def late(*args, **named): raise Exception('The current node timed out during startup.\\nMore lines.')\n"
        "ray.init = late\n"
        "try:\n"
        "    Broker(lambda number, how: None).connect('auto', Path(sys.argv[1]), '0' * 64)\n"
        "except EndpointError as error:\n"
        "    Path(sys.argv[2]).write_text(str(error))\n"
    )
    told = tmp_path / "told"
    subprocess.run([sys.executable, "-c", program, tmp_path / "log", told], check=True, timeout=120)
    assert "no Ray cluster can be started: The current node timed out during startup." in told.read_text()
    assert "`assay resume`" in told.read_text() and "More lines" not in told.read_text()
