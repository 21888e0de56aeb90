"""Servers of ours that are killed, stopped, or used by two; and what is left when a client is killed."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import alive, gone
from serving import (
    QUICK,
    SECRET,
    bits,
    expected_of,
    own,
    sampling,
    served_engine,
    serving,
    site_of,
    started,
    varied,
    wire_to,
)
from vllm_cases import engine_of, policy_of

from assay.engine.interface import Generation
from assay.engine.local import LocalEngine
from assay.engine.native.engine import NativeEngine
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.servers.own import start_own
from assay.engine.remote.servers.start import Started
from assay.engine.remote.transport.couriers import Patience
from assay.engine.remote.transport.wire import Refused
from assay.errors import ConfigError, EndpointError
from assay.policy import load_policy, save_policy
from assay.rng import Key

KEY = Key(3)
pytestmark = pytest.mark.core


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("served") / "model"
    save_policy(policy_of(), place)
    return place


@pytest.fixture(scope="module")
def engine(folder: Path) -> LocalEngine:
    policy = load_policy(folder)
    known = {"end_ids": policy.end_ids, "decode": policy.codec.decode, "vocab": policy.codec.vocab}
    return NativeEngine(policy.network, precision="fp32", **known)


@contextlib.contextmanager
def pair(folder: Path) -> Iterator[list[tuple[str, subprocess.Popen[bytes]]]]:
    with started(folder, "--precision", "fp32") as first, started(folder, "--precision", "fp32") as second:
        yield [first, second]


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_server_that_is_killed_or_stopped_loses_its_requests_to_the_other_with_their_bits(
    folder: Path, engine: LocalEngine
) -> None:
    requests, patience = varied(60), Patience(answer=60.0, silence=2.0)
    wanted = bits(engine.generate(requests, KEY))
    again = bits(engine.generate(requests, Key(4)))
    with pair(folder) as servers:
        sites = [site_of(address) for address, _ in servers]
        with RemoteSampler(sites, expected_of(engine, engine.decode), run="a run", patience=patience) as sampler:
            assert bits(sampler.generate(requests, KEY)) == wanted
            os.kill(servers[0][1].pid, signal.SIGSTOP)
            ticket, began = sampler.submit(requests, Key(4)), time.monotonic()
            assert bits(ticket.wait()) == again
            while not sampler.lost and time.monotonic() < began + 15:
                time.sleep(0.05)
            assert set(sampler.lost) == {0} and f"{servers[0][0]} did not answer within 2 s" in sampler.lost[0]
            os.kill(servers[0][1].pid, signal.SIGCONT)
            sampler.replace(0, site_of(servers[0][0]))
            waiting = sampler.submit(requests, KEY)
            time.sleep(1.5)  # longer than a courier without work lives
            assert not waiting.ready and waiting.left > 10, "it is not asked before it has the weights"
            sampler.published(0)
            assert bits(waiting.wait()) == wanted

            def kill(place: int, made: Generation) -> None:
                os.kill(servers[0][1].pid, signal.SIGKILL)

            assert bits(sampler.submit(requests, KEY, done=kill).wait()) == wanted
            servers[0][1].wait(timeout=20)
            assert bits(sampler.generate(requests, Key(4))) == again
            os.kill(servers[1][1].pid, signal.SIGKILL)
            servers[1][1].wait(timeout=20)
            with pytest.raises(EndpointError, match=f"no sampler is left of 2 .*{servers[1][0]}.*assay resume"):
                sampler.generate(requests, KEY)


def test_two_runs_on_one_server_are_refused_by_name() -> None:
    engine = served_engine()
    with serving(served_engine()) as server:
        with sampling(engine, *own(server)) as sampler:
            with pytest.raises(ConfigError, match=f"at {server.address} cannot be used: .*is used by the run a run"):
                RemoteSampler(own(server), expected_of(engine), run="another run", patience=QUICK)
            strange = wire_to(server.address)
            for path in ("/pause", "/resume", "/release", "/start_weight_update", "/end"):
                with pytest.raises(Refused, match="used by the run a run") as refused:
                    strange.json("POST", path, {}, seconds=5.0)
                assert refused.value.status == 409
            assert len(sampler.generate(varied(3), KEY)) == 3
        with RemoteSampler(own(server), expected_of(engine), run="another run", patience=QUICK) as other:
            assert bits(other.generate(varied(3), KEY)) == bits(engine.generate(varied(3), KEY))


def test_a_server_of_another_shape_is_refused() -> None:
    engine = served_engine()
    with serving(served_engine()) as server:
        for changes, words in (
            ({"vocab": 14}, "a vocabulary of 13, and this run needs 14"),
            ({"context": 128}, "a context of 256, and this run needs 128"),
            ({"end_ids": frozenset({0, 3})}, r"the end tokens \[0\], and this run needs \[0, 3\]"),
            ({"digest": "another"}, "a model of digest 0, and this run needs another"),
        ):
            with pytest.raises(ConfigError, match=f"{server.address} has {words}"):
                site_of(server.address).examine(dataclasses.replace(expected_of(engine), **changes))
        with pytest.raises(ConfigError, match="each server is named once"):
            RemoteSampler(own(server, server), expected_of(engine), run="a run")


CLIENT = """
import sys, time
from pathlib import Path
from assay.engine.remote.servers.own import AssaySite, start_own
from assay.engine.remote.servers.start import Started
from assay.engine.remote.transport.wire import Wire
folder, log, given, SECRET = sys.argv[1:]
server = start_own(folder, secret=SECRET, log=Path(log), options={"precision": "fp32", "threads": 1})
AssaySite(given, SECRET, lease=1.0).claim("a run", seconds=5.0)
Wire(given, SECRET).json("POST", "/pause?run=a+run", {}, seconds=5.0)
print(server.process.pid, AssaySite(server.address, SECRET).facts()["pid"], flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_after_a_client_is_killed_its_servers_are_gone_and_those_given_by_address_go_on(
    folder: Path, tmp_path: Path
) -> None:
    with serving(served_engine()) as given:
        command = [sys.executable, "-c", CLIENT, str(folder), str(tmp_path / "log"), given.address, SECRET]
        client = subprocess.Popen(command, stdout=subprocess.PIPE)
        try:
            assert client.stdout is not None
            pids = [int(pid) for pid in client.stdout.readline().split()]
            assert len(pids) == 2 and all(map(alive, pids))
            link = wire_to(given.address)
            assert link.json("GET", "/is_paused", seconds=5.0) == {"is_paused": True}
        finally:
            client.kill()
            client.wait(timeout=20)
            if client.stdout is not None:
                client.stdout.close()
        assert all(gone(pid, within=15.0) for pid in pids)
        until = time.monotonic() + 15
        while link.json("GET", "/is_paused", seconds=5.0)["is_paused"] and time.monotonic() < until:
            time.sleep(0.05)
        engine = served_engine()
        with sampling(engine, *own(given)) as sampler:
            assert bits(sampler.generate(varied(3), KEY)) == bits(engine.generate(varied(3), KEY))


@pytest.mark.turns(3)
@pytest.mark.slow
def test_a_server_that_we_started_ends_when_told_to_and_says_what_it_serves(folder: Path, tmp_path: Path) -> None:
    with start_own(
        str(folder), secret=SECRET, log=tmp_path / "log", options={"precision": "fp32", "end-ids": "2,5"}
    ) as server:
        facts = site_of(server.address).facts()
        assert (facts["vocab"], facts["context"], facts["end_ids"]) == (48, 256, [2, 5])
        assert facts["place"].startswith("cpu native") and facts["version"] == 0 and facts["precision"] == "fp32"
        printed = json.loads((tmp_path / "log").read_text().splitlines()[0])
        assert printed["address"] == server.address and printed["pid"] == facts["pid"]
        assert engine_of(load_policy(folder)).vocab == facts["vocab"]
        wire_to(server.address).json("POST", "/end", {}, seconds=5.0)
        assert isinstance(server, Started) and gone(facts["pid"]) and gone(server.process.pid)
    with pytest.raises(EndpointError, match=r"a sampler of Assay's engine ended[^$]*nowhere"):
        start_own(str(tmp_path / "nowhere"), secret=SECRET, log=tmp_path / "other")
