"""Real vLLM servers take a learner's weights: they compute with them, and one old tensor is found."""

from __future__ import annotations

import copy
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import save_file
from vllm_cases import KEY, SECRET, expected_of, policy_of, requests
from vllm_place import PYTHON, require_vllm

from assay.engine.interface import Span
from assay.engine.local import LocalEngine
from assay.engine.optimiser import AdamW
from assay.engine.remote.sampler import RemoteSampler
from assay.engine.remote.servers.start import Server
from assay.engine.remote.servers.vllm import EXTENSIONS, INSIDE, UNFINISHED, Vllm, VllmSite, start_vllm
from assay.engine.remote.transport.couriers import Patience
from assay.engine.remote.transport.wire import Wire
from assay.engine.remote.weights.publish import Published, StaleWeights
from assay.engine.remote.weights.send import Files, Network
from assay.engine.torch.engine import TorchEngine
from assay.policy import Policy, save_policy
from assay.rng import Key
from assay.types import Problem, Request

pytestmark = pytest.mark.scale
HERE = Path(__file__).parent / "inside"
WITHIN = 1e-5  # by how much a server's log-probs may differ from the learner's
ATTENTION, REST = ("q_proj", "v_proj", "o_proj"), ("gate_proj", "down_proj", "norm.weight", "lm_head")
KINDS = ("embed_tokens", "input_layernorm", *ATTENTION, *REST, "packed")


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def policy(request: pytest.FixtureRequest) -> Policy:
    return policy_of(request.param, init_std=0.1)


@pytest.fixture(scope="module")
def server(policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server of this policy, and the file that says which tensor it leaves out."""
    require_vllm()
    folder = tmp_path_factory.mktemp("vllm")
    save_policy(policy, folder / "model")
    more = tuple(part.replace('"assay"', '"stale"').replace("assay_weights", "stale_weights") for part in EXTENSIONS)
    environment = {"PYTHONPATH": os.pathsep.join((str(INSIDE), str(HERE))), "ASSAY_STALE": str(folder / "stale")}
    how = Vllm(
        PYTHON, folder / "model", 256, "fp32", rows=16, cache_mb=64, secret=SECRET, more=more, environment=environment
    )
    with start_vllm(how, log=folder / "log") as started:
        yield started, folder / "stale"


def learner_of(policy: Policy) -> LocalEngine:
    """A learner with weights of its own: what a test does to them, the next one does not meet."""
    return TorchEngine(
        copy.deepcopy(policy.network),
        precision="fp32",
        optimiser=AdamW(),
        end_ids=policy.end_ids,
        decode=policy.codec.decode,
        vocab=policy.codec.vocab,
    )


def published(server: Server, learner: LocalEngine, folder: Path | None) -> Published:
    """Weights go by a folder, or by a network where there is none."""
    patience = Patience(answer=120.0, silence=60.0)
    expected = expected_of(learner, probes=())
    remote = RemoteSampler([VllmSite(server.address, SECRET, at_once=16)], expected, run="a run", patience=patience)
    return Published(remote, learner, Network("gloo") if folder is None else Files(folder), tolerance=1e-3)


def change(learner: LocalEngine, seed: int) -> None:
    """Another value for every number of the weights, of the size that the model's own have."""
    draw = np.random.default_rng(seed)
    weights = {name: value for name, value in learner.view().items() if name.startswith("parameter/")}
    for tensor in weights.values():
        tensor += 0.02 * tensor.new_tensor(draw.standard_normal(tuple(tensor.shape)))
    learner.load({**learner.view(), "version": learner.version + 1})


def written(server: Server) -> float:
    """How many tokens the server has written since it started."""
    told = Wire(server.address, SECRET).ask("GET", "/metrics", seconds=10.0).data.decode()
    (count,) = re.findall(r"^vllm:generation_tokens_total\{.*\} (\S+)$", told, re.MULTILINE)
    return float(count)


@pytest.mark.parametrize("by", ["files", "gloo"])
def test_a_server_computes_with_what_was_published(server: Any, policy: Policy, tmp_path: Path, by: str) -> None:
    """Every tensor changes before each publish; answers and probes have the learner's log-probs of their version."""
    learner = learner_of(policy)
    sampler = published(server[0], learner, tmp_path if by == "files" else None)
    for seed in range(3):
        change(learner, seed)
        sampler.receive(learner.tensors(), learner.version)
        assert sampler.gap < WITHIN
        asked = [request for request in requests() if request.temperature and request.top_p == 1 and not request.top_k]
        made = sampler.generate(asked, KEY)
        for request, one in zip(asked, made, strict=True):
            assert one.segment.version == learner.version, one.detail
            (scores,) = learner.score([Span(request.context, one.segment.ids, request.temperature)])
            if not request.min_p:
                assert one.segment.mu is not None
                np.testing.assert_allclose(one.segment.mu, scores.logp, atol=2 * WITHIN)
    size = sum(tensor.nbytes for _, tensor in learner.tensors())
    assert size <= sampler.moved < 1.05 * size + 4096 and list(tmp_path.iterdir()) == []
    sampler.close()


@pytest.mark.parametrize("kind", KINDS)
def test_one_old_tensor_is_found_and_its_server_named(server: Any, policy: Policy, tmp_path: Path, kind: str) -> None:
    """The server says that it took what it was given, and computes with something old: the handshake finds it."""
    started, place = server
    learner = learner_of(policy)
    sampler = published(started, learner, tmp_path)
    sampler.receive(learner.tensors(), learner.version)
    names = [name for name, _ in learner.tensors() if kind in name]
    if not names and kind != "packed":
        pytest.skip(f"a tied model has no {kind} of its own")
    if kind == "packed" and any("lm_head" in name for name, _ in learner.tensors()):
        pytest.skip("vLLM itself packs an output layer of its own anew")
    sampler.close()
    again = published(started, learner, tmp_path)
    try:
        place.write_text(names[-1] if names else kind)
        with pytest.raises(StaleWeights, match=f"sampler at {started.address} reports the new weights"):
            again.receive(learner.tensors(), learner.version)
    finally:
        place.unlink()
        again.close()


def test_each_span_of_an_answer_has_the_log_probs_of_its_own_version(
    server: Any, policy: Policy, tmp_path: Path
) -> None:
    """Weights change while answers are written, twice."""
    learner = learner_of(policy)
    sampler = published(server[0], learner, tmp_path)
    sampler.receive(learner.tensors(), learner.version)
    context = np.array([3, 9, 12, 20], np.int32)
    asked = [Request(Problem("vllm", "long", {}, "long"), context, f"{i}", 240, sample=i) for i in range(200)]
    ticket = sampler.submit(asked, KEY)
    scored: dict[int, list[np.ndarray]] = {}
    kept = []
    for seed in (5, 6):
        until, end = written(server[0]) + 100, time.monotonic() + 120
        while written(server[0]) < until:
            assert time.monotonic() < end, "the server writes nothing"
            time.sleep(0.01)
        kept.append({name: tensor.clone() for name, tensor in learner.tensors()})
        scored[learner.version] = []
        change(learner, seed)
        sampler.receive(learner.tensors(), learner.version)
    made = ticket.wait()
    versions = {part.version for one in made for part in one.spans or (one.segment,)}
    assert len(versions) == 3 and any(one.spans for one in made), "no answer was under way when the weights changed"
    for one in made:
        assert one.finish in ("stop", "length"), one.detail
    require_spans(learner, kept, made, context)
    sampler.close()


def require_spans(learner: LocalEngine, kept: list[Any], made: list[Any], context: np.ndarray) -> None:
    """Scores whole answers with the weights of each version in turn, and compares each span with its own."""
    newest = {name: tensor.clone() for name, tensor in learner.tensors()}
    first = learner.version - len(kept)
    for version, weights in enumerate([*kept, newest], start=first):
        for name, tensor in learner.tensors():
            tensor.copy_(weights[name])
        learner.load({**learner.view(), "version": version})
        scores = learner.score([Span(context, one.segment.ids) for one in made])
        for one, score in zip(made, scores, strict=True):
            at = 0
            for part in one.spans or (one.segment,):
                if part.version == version:
                    assert part.mu is not None
                    np.testing.assert_allclose(part.mu, score.logp[at : at + len(part.ids)], atol=2 * WITHIN)
                at += len(part.ids)


def test_an_update_that_is_broken_off_leaves_the_server_running_under_no_label(
    server: Any, policy: Policy, tmp_path: Path
) -> None:
    learner = learner_of(policy)
    sampler = published(server[0], learner, tmp_path)
    sampler.receive(learner.tensors(), learner.version)
    site = sampler.sampler.sites[0]
    for parts in (0, 1):
        site.begin("a run", seconds=60.0)
        if parts:
            name, tensor = next(learner.tensors())
            save_file({name: tensor.detach().contiguous()}, tmp_path / "some.safetensors")
            site.take({"folder": str(tmp_path)}, "a run", seconds=60.0)
        sampler._abandon(site)
        assert site.wire.json("GET", "/is_paused", seconds=5.0) == {"is_paused": False}
        assert site.wire.json("GET", "/weight_info", seconds=5.0) == {"weight_version": UNFINISHED}
        (made,) = sampler.generate(requests()[:1], KEY)
        assert (made.finish, made.kind) == ("error", "sampler_answer") and UNFINISHED in made.detail
    sampler.receive(learner.tensors(), learner.version)
    assert sampler.generate(requests()[:1], Key(2))[0].finish in ("stop", "length")
    sampler.close()


@pytest.mark.parametrize("policy", [False], indirect=True)
def test_all_processes_of_a_server_take_what_is_published(policy: Policy, tmp_path: Path) -> None:
    """Two processes that share every matrix, as on two GPUs: each takes every bucket, from files and from a network."""
    require_vllm()
    save_policy(policy, tmp_path / "model")
    how = Vllm(PYTHON, tmp_path / "model", 256, "fp32", rows=16, cache_mb=64, tensor=2, secret=SECRET)
    with start_vllm(how, log=tmp_path / "log") as spread:
        learner = learner_of(policy)
        for seed, folder in enumerate((None, tmp_path / "weights")):
            sampler = published(spread, learner, folder)
            assert sampler.sampler.sites[0].processes(seconds=10.0) == 2
            change(learner, seed)
            sampler.receive(learner.tensors(), learner.version)
            assert sampler.gap < WITHIN
            sampler.close()
