"""The pointer engine: it samples routes from the distribution that it learns, and its gradients are those of the
formula.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from typing import Any, cast

import numpy as np
import pytest
import torch
from pointing import CODEC, engine_of, network_of, requests_of, rows_of
from tiny import batch_of, loss_and_gradient, recipe_of, take_gradient
from torch import Tensor, nn

from assay.engine.interface import Span, Want
from assay.engine.optimiser import AdamW
from assay.engine.pointer.engine import PointerEngine
from assay.engine.transformers.engine import AdapterEngine
from assay.errors import ConfigError, DataError
from assay.policy.network import Network
from assay.policy.pointer import HEAD, MASKED, PointerNetwork
from assay.policy.routes import END
from assay.record.disk import write_new
from assay.rng import Key
from assay.types import Segment

SIZES = (6, 9, 7)


def test_every_answer_is_a_route_that_ends() -> None:
    for request, made in zip(asked := requests_of(SIZES, 8), engine_of().generate(asked, Key(0)), strict=True):
        places = len(request.context) // 2
        *route, end = made.segment.ids.tolist()
        assert sorted(route) == list(range(1, places + 1)) and end == END and made.finish == "stop"


def test_an_answer_does_not_depend_on_what_is_asked_beside_it() -> None:
    engine, asked = engine_of(), requests_of(SIZES, 4)
    together = engine.generate(asked, Key(3))
    for request, made in zip(asked, together, strict=True):
        (alone,) = engine.generate([request], Key(3))
        assert (alone.segment.ids == made.segment.ids).all()
        assert np.allclose(alone.segment.old, made.segment.old, atol=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_the_probabilities_of_all_routes_sum_to_one(temperature: float) -> None:
    engine, (request,) = engine_of(), requests_of([6], 1)
    routes = [np.array([*order, END], np.int32) for order in itertools.permutations(range(1, 7))]
    scores = engine.score([Span(request.context, route, temperature) for route in routes])
    assert sum(math.exp(score.logp.sum(dtype=np.float64)) for score in scores) == pytest.approx(1, abs=1e-6)
    assert all(score.logp[-1] == 0 for score in scores), "the end is certain when every place was visited"


def test_the_sampler_draws_from_that_distribution() -> None:
    """Chi-square over the first place of six, of 4,000 routes."""
    engine, asked = engine_of(), requests_of([6], 4000)
    spans = [Span(asked[0].context, np.array([place], np.int32)) for place in range(1, 7)]
    chances = np.exp([score.logp[0] for score in engine.score(spans)])
    drawn = np.bincount([made.segment.ids[0] for made in engine.generate(asked, Key(1))], minlength=7)[1:]
    assert ((drawn - 4000 * chances) ** 2 / (4000 * chances)).sum() < 25.8  # five degrees of freedom: p = 1e-4


@pytest.mark.parametrize(("precision", "apart"), [("fp64", 1e-6), ("fp32", 2e-5)])
@pytest.mark.parametrize("how", [{}, {"temperature": 0.6}, {"top_k": 3}, {"top_p": 0.7}, {"min_p": 0.2}])
def test_what_the_sampler_records_is_what_the_learner_computes(precision: Any, apart: float, how: Any) -> None:
    """In fp64 but for the rounding of the records, which are fp32."""
    engine, asked = engine_of(precision=precision), requests_of(SIZES, 4, **how)
    made = engine.generate(asked, Key(2))
    temperature = how.get("temperature", 1.0)
    scores = engine.score([Span(r.context, m.segment.ids, temperature) for r, m in zip(asked, made, strict=True)])
    for score, one in zip(scores, made, strict=True):
        assert one.segment.old is not None and one.segment.mu is not None
        assert np.abs(score.logp - one.segment.old).max() < apart
        assert (one.segment.mu >= one.segment.old - 1e-6).all(), "a filter leaves no place less likely"


def naive_log_probs(model: PointerNetwork, context: np.ndarray, ids: np.ndarray) -> Tensor:
    """The log-probability of each action, step by step, as the formula in the module says it; one row, no batch."""
    points = torch.from_numpy(context.reshape(-1, 2).astype(np.float64)) / model.config.span
    x, heads = model.embed(points), model.config.hidden // HEAD

    def attend(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        parts = zip(query.chunk(heads, -1), keys.chunk(heads, -1), values.chunk(heads, -1), strict=True)
        return torch.cat([torch.softmax(q @ k.t() / HEAD**0.5, -1) @ v for q, k, v in parts], -1)

    for layer in (cast(Any, one) for one in model.layers):
        query, keys, values = layer.attention(layer.norm(x)).chunk(3, -1)
        x = x + layer.out(attend(query, keys, values))
        x = x + layer.down(torch.relu(layer.up(layer.ff_norm(x))))
    x = model.norm(x)
    keys, values = model.glimpse(x).chunk(2, -1)
    left, first, last, result = list(range(len(points))), model.nowhere, model.nowhere, []
    for action in ids:
        if action == END:
            assert not left
            result.append(x.new_zeros(()))
            continue
        query = model.whole(x.mean(0)) + model.step(torch.cat([first, last]))
        looked = model.looked(attend(query[None], keys[left], values[left]))[0]
        scores = model.config.clip * torch.tanh(model.pointed(x[left]) @ looked / model.config.hidden**0.5)
        place = left.index(int(action) - 1)
        result.append(torch.log_softmax(scores, -1)[place])
        last = x[int(action) - 1]
        first = last if len(left) == len(points) else first
        del left[place]
    return torch.stack(result)


def test_log_probs_and_gradients_are_those_of_the_formula() -> None:
    engine, asked = engine_of(), requests_of(SIZES, 3)
    rows = rows_of(engine, asked)
    batch = batch_of(recipe_of("grpo"), rows)
    weight = np.random.default_rng(0).normal(size=len(batch.ids))
    for chunk in engine.chunks(batch, tokens=10**6):
        outputs = engine.forward(chunk, Want())
        order = np.concatenate([np.arange(int(batch.at[i]), int(batch.at[i + 1])) for i in chunk.rows])
        (outputs.logp * torch.from_numpy(weight[order])).sum().backward()
        engine.backward(chunk, outputs)
    ours, at = take_gradient(engine), batch.at
    naive = [naive_log_probs(engine.model, row.episode.request.context, row.episode.stream("ids")) for row in rows]
    sum((torch.from_numpy(weight[a:b]) * logp).sum() for a, b, logp in zip(at[:-1], at[1:], naive)).backward()  # type: ignore[union-attr]
    assert torch.allclose(ours, take_gradient(engine), rtol=0, atol=1e-10)
    spans = [Span(row.episode.request.context, row.episode.stream("ids")) for row in rows]
    for score, logp in zip(engine.score(spans), naive, strict=True):
        assert np.allclose(score.logp, logp.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("name", ["reinforce", "rloo", "grpo"])
def test_the_gradient_does_not_depend_on_how_rows_are_cut(name: str) -> None:
    engine = engine_of()
    recipe = recipe_of(name, max_new=16)
    batch = batch_of(recipe, rows_of(engine, requests_of(SIZES, 1 if name == "reinforce" else 4)))
    whole, gradient = loss_and_gradient(engine, batch, recipe)
    assert gradient.norm() > 1e-4
    for cut in (1, 2, 5):
        loss, other = loss_and_gradient(engine, batch, recipe, cut=cut)
        assert loss == pytest.approx(whole, abs=1e-12)
        assert torch.allclose(gradient, other, rtol=0, atol=1e-12)


# The same problem as tokens


class _AsTokens(nn.Module):
    """The pointer network as a network of tokens: it reads coordinates and places as ids, one row at a time, and gives
    logits of the next id after each of them.
    """

    def __init__(self, inner: PointerNetwork) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor, use_cache: bool = False) -> Any:
        del position_ids, use_cache
        rows = [self._row(ids[mask > 0]) for ids, mask in zip(input_ids, attention_mask, strict=True)]
        width = input_ids.shape[1]
        padded = [torch.cat([row, row.new_zeros(width - len(row), row.shape[1])]) for row in rows]
        return dataclasses.make_dataclass("Answer", ["logits"])(torch.stack(padded))

    def _row(self, ids: Tensor) -> Tensor:
        known = 2 * SAME  # coordinates; what follows are places
        context, route = ids[:known], ids[known:].tolist()
        points = context.reshape(1, -1, 2).to(self.inner.embed.weight.dtype)
        seen = self.inner.encode(points, torch.tensor([SAME]))
        found = [points.new_zeros(CODEC.vocab) for _ in range(known - 1)]
        for count in range(len(route) + 1):
            before = route[:count]
            legal = torch.tensor([[False, *(place not in before for place in range(1, SAME + 1))]])
            legal[0, END] = not legal.any()
            first, last = (before[0], before[-1]) if before else (0, 0)
            steps = (torch.tensor([0]), torch.tensor([first]), torch.tensor([last]))
            logits = self.inner.logits(seen, *steps, legal)[0]
            found.append(nn.functional.pad(logits, (0, CODEC.vocab - len(logits)), value=MASKED))
        return torch.stack(found)


SAME = 6  # places of the problems that are asked as tokens too


class _TokenNetwork(Network):
    """What the engine of `transformers` asks of a network."""

    kind = "foreign"
    pictures = None

    def __init__(self, network: PointerNetwork) -> None:
        super().__init__()
        self.inner = _AsTokens(network)
        self.config = network.config

    @property
    def output(self) -> nn.Module:
        return self.inner

    def tensors(self) -> dict[str, Tensor]:
        return dict(self.named_parameters())

    def file_name(self, name: str) -> str:
        return name

    def described(self, dtype: str, ids: Any) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("name", ["reinforce", "rloo", "grpo", "dapo", "gspo"])
def test_a_problem_has_one_gradient_as_routes_and_as_tokens_of_equal_logits(name: str) -> None:
    routes = engine_of(7)
    about = {"end_ids": CODEC.end_ids, "decode": CODEC.decode, "vocab": CODEC.vocab, "precision": "fp64"}
    tokens = AdapterEngine(_TokenNetwork(network_of(7)), **about)  # type: ignore[arg-type]
    recipe = recipe_of(name, max_new=16)
    rows = rows_of(routes, requests_of([SAME] * 3, 1 if name == "reinforce" else 4, temperature=0.8))
    batch = batch_of(recipe, rows)
    loss, gradient = loss_and_gradient(routes, batch, recipe)
    other_loss, other = loss_and_gradient(tokens, batch, recipe)
    assert loss == pytest.approx(other_loss, abs=1e-12) and gradient.norm() > 1e-4
    assert (gradient - other).abs().max() < 1e-10


# State


def stepped(engine: PointerEngine, steps: int, first: int = 0) -> PointerEngine:
    recipe = recipe_of("grpo", max_new=16)
    for step in range(first, first + steps):
        batch = batch_of(recipe, rows_of(engine, requests_of(SIZES, 4), seed=step))
        for chunk in engine.chunks(batch, tokens=10**6):
            outputs = engine.forward(chunk, Want())
            (-outputs.logp * chunk.streams["advantage"]).sum().backward()
            engine.backward(chunk, outputs)
        engine.step(lr=1e-3, clip=1.0)
    return engine


def test_a_restored_engine_goes_on_bit_for_bit(tmp_path: Any) -> None:
    engine = stepped(engine_of(precision="fp32"), 2)
    for folder in ("policy", "optimiser"):
        (tmp_path / folder).mkdir()
    engine.stored("policy").write(tmp_path, functools.partial(write_new, point="checkpoint"))
    again = engine_of(5, precision="fp32")
    again.restore(tmp_path, "policy", engine.version)
    one, other = stepped(engine, 2, first=2), stepped(again, 2, first=2)
    assert one.version == other.version == 4
    for name, tensor in one.model.tensors().items():
        assert torch.equal(tensor, other.model.tensors()[name])


def test_a_copy_is_frozen_and_writes_the_same() -> None:
    engine, asked = engine_of(), requests_of(SIZES, 2)
    copied = engine.copy()
    before = [made.segment.ids.tolist() for made in engine.generate(asked, Key(4))]
    stepped(engine, 1)
    assert [made.segment.ids.tolist() for made in copied.generate(asked, Key(4))] == before
    assert copied.optimiser is None and copied.precision == "fp64"


def test_a_route_that_was_begun_is_continued() -> None:
    engine, (request,) = engine_of(), requests_of([7], 1)
    begun = Segment(np.array([3, 5], np.int32), np.zeros(2, np.int8))
    (made,) = engine.generate([dataclasses.replace(request, prefix=(begun,))], Key(0))
    assert sorted(made.segment.ids.tolist()) == [0, 1, 2, 4, 6, 7]


# Bad input


def test_a_beginning_that_is_no_route_is_refused() -> None:
    (request,) = requests_of([7], 1)
    begun = Segment(np.array([3, 3], np.int32), np.zeros(2, np.int8))
    with pytest.raises(DataError, match="action 3 at step 2 of a route is not legal"):
        engine_of().generate([dataclasses.replace(request, prefix=(begun,))], Key(0))


@pytest.mark.parametrize("ids", [[1, 1], [7], [0], [-1], [1, 2, 3, 4, 5, 6, 0, 3]])
def test_what_is_no_route_is_refused(ids: list[int]) -> None:
    (request,) = requests_of([6], 1)
    with pytest.raises(DataError, match="is not legal"):
        engine_of().score([Span(request.context, np.array(ids, np.int32))])


@pytest.mark.parametrize("context", [[1, 2, 3], [4, 5]])
def test_a_context_that_is_no_problem_is_refused(context: list[int]) -> None:
    with pytest.raises(DataError, match="no routing problem"):
        engine_of().score([Span(np.array(context, np.int32), np.array([1], np.int32))])


def test_other_engines_and_formats_are_refused() -> None:
    from assay.engine.choose import engine_of as chosen

    assert chosen(network_of(), "auto", "cpu", "auto").engine is PointerEngine
    with pytest.raises(ConfigError, match="core runs language models"):
        chosen(network_of(), "native", "cpu", "auto")
    with pytest.raises(ConfigError, match="fp32 or fp64"):
        chosen(network_of(), "auto", "cpu", "bf16")


def test_weights_that_diverged_are_an_error() -> None:
    engine = engine_of(optimiser=AdamW())
    with torch.no_grad():
        engine.model.embed.weight.fill_(torch.nan)
    with pytest.raises(Exception, match="not finite"):
        engine.generate(requests_of([6], 1), Key(0))
