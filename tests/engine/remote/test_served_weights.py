"""Weights that a served engine takes, and the orders by which a run pauses it and gives them."""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from engine_cases import engine_of
from serving import bits, own, sampling, served_engine, serving, varied, wire_to

from assay.engine.interface import Generation, Span
from assay.engine.local import LocalEngine
from assay.engine.remote.servers.http_server import Server
from assay.engine.remote.transport.messages import asking
from assay.engine.remote.transport.wire import Refused
from assay.engine.remote.weights import receive
from assay.engine.remote.weights.receive import Receiver, from_files
from assay.errors import DataError
from assay.policy.safetensors_folder import write_weights
from assay.rng import Key

KEY = Key(3)
RUN = {"assay": {"run": "a run"}}


def weights(engine: LocalEngine) -> dict[str, torch.Tensor]:
    return {n.removeprefix("parameter/"): v for n, v in engine.state().items() if n.startswith("parameter/")}


def written(engine: LocalEngine, folder: Path, *, shard: int = 10**9) -> Path:
    folder.mkdir()
    write_weights(folder, weights(engine), max_shard_bytes=shard)
    return folder


def tell(server: Server, path: str, **body: Any) -> Any:
    return wire_to(server.address).json("POST", path, {**RUN, **body}, seconds=20.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["native", "fp32"])
@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_weights_from_files_are_served_under_their_version(
    kind: str, family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tied and untied, in shards, and in pieces of a few rows; each tensor is another one."""
    monkeypatch.setattr(receive, "BUCKET", 200)
    learner = engine_of(family, precision=kind, seed=7, decode=served_engine().decode)
    folder = written(learner, tmp_path / "new", shard=2000)
    assert len(list(folder.glob("*.safetensors"))) > 1
    begun = engine_of(family, precision=kind, decode=learner.decode)
    with serving(begun) as server, sampling(learner, *own(server)) as sampler:
        old = bits(sampler.generate(varied(), KEY))
        tell(server, "/init_weight_transfer_engine", init_info={"backend": "files"})
        tell(server, "/start_weight_update")
        tell(server, "/update_weights", update_info={"folder": str(folder)})
        tell(server, "/finish_weight_update", weight_version="1")
        sampler.published(1)
        assert sampler.sites[0].examine(sampler.expected) == "1"
        learner.version = 1
        assert bits(sampler.generate(varied(), KEY)) == bits(learner.generate(varied(), KEY)) != old
        found = tell(server, "/weight_checker", action="checksum")["checksums"]
        spans = [Span(np.array([1, 2], np.int32), np.array([3, 4, 5], np.int32))]
        (scored,) = sampler.sites[0].score(spans)
        assert scored.tobytes() == learner.score(spans)[0].logp.tobytes()
    content = {name: tensor.contiguous().numpy().tobytes() for name, tensor in weights(learner).items()}
    assert found == {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}


def test_a_stale_tensor_changes_its_checksum_alone() -> None:
    engine = served_engine()
    before = Receiver(engine).checksums()
    name = sorted(weights(engine))[3]
    with torch.no_grad():
        engine.view()[f"parameter/{name}"].view(-1)[0] += 1e-6
    after = Receiver(engine).checksums()
    assert [n for n in before if before[n] != after[n]] == [name]


def test_pieces_are_no_larger_than_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = served_engine()
    folder = written(engine, tmp_path / "new")
    for bucket in (1, 64, 1000, 1 << 20):
        monkeypatch.setattr(receive, "BUCKET", bucket)
        whole: dict[str, list[torch.Tensor]] = {}
        for name, first, rows in from_files({"folder": str(folder)}):
            assert first == sum(map(len, whole.get(name, []))) and (rows.nbytes <= bucket or len(rows) == 1)
            whole.setdefault(name, []).append(rows)
        assert whole.keys() == weights(engine).keys()
        assert all(torch.equal(torch.cat(whole[name]), tensor) for name, tensor in weights(engine).items())


def test_weights_that_do_not_fit_or_are_not_whole_are_refused(tmp_path: Path) -> None:
    receiver = Receiver(served_engine())
    name, tensor = next(iter(weights(receiver.engine).items()))
    receiver.start()
    for wrong, words in (
        (("no.such.weight", 0, tensor), "has no tensor no.such.weight"),
        ((name, 0, tensor[:, 1:]), rf"{name} has the shape \[13, 16\], and rows 0 to 13 of shape \[15\]"),
        ((name, 1, tensor), "rows 1 to 14"),
    ):
        with pytest.raises(DataError, match=words):
            receiver.take(*wrong)
    receiver.take(name, 0, tensor)
    with pytest.raises(DataError, match=r"tensors are not whole"):
        receiver.finish(1)
    with pytest.raises(DataError, match=r"has none"):
        list(from_files({"folder": str(tmp_path)}))


def test_load_weights_takes_whole_tensors() -> None:
    learner = engine_of("qwen3", precision="native", seed=7, decode=served_engine().decode)
    with serving(served_engine()) as server:
        server.served.load_weights(4, weights(learner))
        learner.version = 4
        with sampling(learner, *own(server), version=4) as sampler:
            assert bits(sampler.generate(varied(9), KEY)) == bits(learner.generate(varied(9), KEY))


def test_orders_of_weights_out_of_turn_are_refused(tmp_path: Path) -> None:
    with serving(served_engine()) as server:
        for path, status, body in (
            ("/update_weights", 503, {"update_info": {"folder": str(tmp_path)}}),
            ("/finish_weight_update", 503, {"weight_version": "1"}),
            ("/finish_weight_update", 400, {"weight_version": "one"}),
            ("/init_weight_transfer_engine", 400, {"init_info": {"backend": "pigeons"}}),
            ("/weight_checker", 400, {"action": "reset"}),
            ("/lease", 400, {"run": ""}),
            ("/nothing", 404, {}),
            ("/inference/v1/generate", 400, {"token_ids": [99], "sampling_params": {}}),
            ("/inference/v1/generate", 400, {"token_ids": [], "sampling_params": {}}),
            ("/inference/v1/generate", 400, {"token_ids": [1], "sampling_params": {"temperature": "hot"}}),
            ("/inference/v1/generate", 400, {"token_ids": [1], "sampling_params": {"stop": [""]}}),
            ("/inference/v1/generate", 400, {"token_ids": [1], "assay": {"key": "0"}}),
            ("/inference/v1/generate", 400, {"token_ids": [1], "assay": {"before": 1}}),
            ("/inference/v1/generate", 400, {"token_ids": [1], "sampling_params": {"max_tokens": 999}}),
            ("/inference/v1/generate", 400, {"requests": []}),
            ("/score", 400, {"spans": [{"context": [1]}]}),
        ):
            server.served.lease.take("a run", 60.0)
            own: Any = body.get("assay", {})
            given = {**body, "assay": {**RUN["assay"], **own}}
            with pytest.raises(Refused) as refused:
                wire_to(server.address).json("POST", path, given, seconds=5.0)
            assert refused.value.status == status and server.address in str(refused.value)


@pytest.mark.slow
def test_an_update_that_is_broken_off_leaves_a_server_that_refuses_to_answer(tmp_path: Path) -> None:
    engine = served_engine()
    folder = written(engine, tmp_path / "new")
    with serving(served_engine()) as server:
        server.served.lease.take("a run", 0.5)
        tell(server, "/start_weight_update")
        end = time.monotonic() + 10
        while server.served.lease.holder() and time.monotonic() < end:
            time.sleep(0.02)
        with pytest.raises(Refused, match=r"broken off.*parts of two versions"):
            wire_to(server.address).json("POST", "/inference/v1/generate", asking(varied(1)[0], KEY), seconds=5.0)
        with pytest.raises(Refused, match="from the run that has the lease"):
            tell(server, "/start_weight_update")
        server.served.lease.take("a run", 60.0)
        tell(server, "/start_weight_update")
        tell(server, "/update_weights", update_info={"folder": str(folder)})
        tell(server, "/finish_weight_update", weight_version="2")
        server.served.lease.release("a run")
        said = wire_to(server.address).json("POST", "/inference/v1/generate", asking(varied(1)[0], KEY), seconds=5.0)
        assert said["choices"][0]["weight_versions"][0]["version"] == "2"


def test_a_paused_server_finishes_its_call_and_lets_others_wait_or_gives_them_up() -> None:
    engine, found = served_engine(), {}
    wanted = bits(engine.generate(varied(5), KEY))
    with serving(served_engine()) as server, sampling(engine, *own(server)) as sampler:
        tell(server, "/pause")
        ticket = sampler.submit(varied(5), KEY)
        body = asking(varied(6)[5], KEY)
        body["assay"]["run"] = "a run"

        def ask() -> None:
            try:
                found["said"] = wire_to(server.address).json("POST", "/inference/v1/generate", body, seconds=20.0)
            except Refused as refused:
                found["said"] = refused

        thread = threading.Thread(target=ask)
        thread.start()
        end = time.monotonic() + 10
        while len(server.served._waiting) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        assert not ticket.ready
        given_up = tell(server, "/abort_requests", request_ids=[body["request_id"]])
        assert (given_up["aborted"], given_up["running"]) == (1, [])
        thread.join(timeout=10)
        assert found["said"].status == 503 and "aborted before it began" in str(found["said"])
        tell(server, "/resume")
        assert bits(ticket.wait()) == wanted
        assert wire_to(server.address).json("GET", "/is_paused", seconds=5.0) == {"is_paused": False}


def test_what_an_engine_raises_is_raised_where_the_ticket_is_waited_for() -> None:
    sick = served_engine()
    with torch.no_grad():
        sick.view()["parameter/model.norm.weight"].fill_(torch.nan)
    sick.load(sick.view())
    with serving(sick) as server, sampling(served_engine(), *own(server)) as sampler:
        with pytest.raises(Exception, match=f"at {server.address} raised AssayError: .*not finite.*diverged"):
            sampler.generate(varied(5), KEY)
        assert not sampler.lost


@pytest.mark.slow
def test_a_client_that_leaves_ends_its_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked for and not waited for is not written to its end."""
    engine, begun, go = served_engine(), threading.Event(), threading.Event()
    sound, ended = engine.generate, []

    def slow(requests: Any, key: Key, *, done: Any) -> list[Generation]:
        begun.set()
        assert go.wait(timeout=20)
        try:
            return sound(requests, key, done=done)
        except BaseException as error:
            ended.append(type(error).__name__)
            raise

    monkeypatch.setattr(engine, "generate", slow)
    with serving(engine) as server:
        with sampling(served_engine(), *own(server)) as sampler:
            sampler.submit(varied(5), KEY)
            assert begun.wait(timeout=20)
        end = time.monotonic() + 20
        while not all(call.dropped for call in server.served._running) and time.monotonic() < end:
            time.sleep(0.02)
        go.set()
        while not ended and time.monotonic() < end:
            time.sleep(0.02)
    assert ended == ["_Dropped"]
