"""What a loop asks of an engine beside chunks: tickets, other engines' weights, its own beginning, and its state."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from engine_cases import batch_of, engine_of, requests_of, rows_of
from torch import Tensor

from assay.engine.interface import Want
from assay.engine.local import LocalEngine
from assay.errors import StorageError, UsageError
from assay.rng import Key


@pytest.fixture
def engine(kind: str) -> LocalEngine:
    return engine_of("qwen3")


pytestmark = [
    pytest.mark.usefixtures("kind"),
    pytest.mark.parametrize("kind", ["torch", "native", "adapter"], indirect=True),
]
BATCH = batch_of(*rows_of([5, 1, 9, 3]))


def weights(engine: LocalEngine) -> dict[str, Tensor]:
    return {name: value for name, value in engine.state().items() if name.startswith("parameter/")}


def trained(engine: LocalEngine, steps: int = 1) -> LocalEngine:
    for _ in range(steps):
        for chunk in engine.chunks(BATCH, tokens=10_000):
            out = engine.forward(chunk, Want())
            (chunk.streams["advantage"] * out.logp).sum().backward()
            engine.backward(chunk, out)
        assert engine.step(lr=1e-2, clip=1.0)["grad_norm"] > 0
    return engine


def written(path: Path, pieces: Iterable[Any]) -> tuple[int, str]:
    content = b"".join(bytes(memoryview(piece)) for piece in pieces)
    path.write_bytes(content)
    return len(content), hashlib.sha256(content).hexdigest()


def test_a_ticket_has_what_generate_gives_and_tells_of_each_answer_once(engine: LocalEngine) -> None:
    requests, told = requests_of(4), []
    ticket = engine.submit(requests, Key(3), done=lambda place, made: told.append((place, made)))
    assert ticket.ready and sorted(place for place, _ in told) == list(range(len(requests)))
    for place, made in told:
        assert ticket.wait()[place] is made
    for mine, again in zip(ticket.wait(), engine.generate(requests, Key(3)), strict=True):
        assert mine.segment.ids.tolist() == again.segment.ids.tolist() and mine.finish == again.finish


@pytest.mark.parametrize("rate", [1.0, 0.25])
def test_weights_are_taken_by_a_share_and_the_optimiser_begins_anew(engine: LocalEngine, rate: float) -> None:
    other = trained(engine_of("qwen3"), 2)
    trained(engine)
    mine, theirs = weights(engine), weights(other)
    engine.take(other, rate)
    for name, now in weights(engine).items():
        torch.testing.assert_close(now, mine[name] + rate * (theirs[name] - mine[name]))
    assert engine.version == (2 if rate == 1 else 1)
    assert not any(name.startswith("optimiser/") for name in engine.state())
    fresh = engine_of("qwen3")
    fresh.load(engine.state())
    for one in (engine, fresh):
        trained(one)
    assert all(torch.equal(value, fresh.state()[name]) for name, value in weights(engine).items())


def test_a_set_returns_to_its_start_and_its_version_counts_on(engine: LocalEngine) -> None:
    with pytest.raises(UsageError, match="mark_start"):
        engine.return_to_start()
    engine.mark_start()
    begun = weights(engine)
    trained(engine, 2).return_to_start()
    assert all(torch.equal(value, begun[name]) for name, value in weights(engine).items()) and engine.version == 2
    assert not any(name.startswith("optimiser/") for name in engine.state())


def test_what_is_stored_is_restored_bit_for_bit(engine: LocalEngine, tmp_path: Path) -> None:
    stored = trained(engine).stored("policy")
    for folder in stored.folders:
        (tmp_path / folder).mkdir()
    files = stored.write(tmp_path, written)
    assert sorted(files) == ["optimiser/policy.safetensors", "policy/model.safetensors"] and stored.broken() is None
    assert stored.nbytes < sum(size for size, _ in files.values()) < stored.nbytes + 20_000
    assert all((tmp_path / name).stat().st_size == size for name, (size, _) in files.items())
    again = engine_of("qwen3")
    again.restore(tmp_path, "policy", 1)
    for one in (engine, again):
        trained(one)
    assert all(torch.equal(value, again.state()[name]) for name, value in weights(engine).items())
    assert again.version == 2
    (tmp_path / "policy/model.safetensors").unlink()
    with pytest.raises(StorageError, match=r"model\.safetensors"):
        again.restore(tmp_path, "policy", 1)


def test_a_tensor_that_is_not_finite_is_named(engine: LocalEngine) -> None:
    name, parameter = next((name, p) for name, p in engine.model.named_parameters() if name.endswith("norm.weight"))
    with torch.no_grad():
        parameter[0] = torch.nan
    assert engine.stored("policy").broken() == f"{name.removeprefix('inner.')} of policy/model.safetensors"
