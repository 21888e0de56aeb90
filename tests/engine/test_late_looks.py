"""A host that looks late: the same answers, ends, records and kept prefixes as one that looks after every token."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from engine_cases import contexts_of, engine_of, problem_of
from hypothesis import given, settings
from hypothesis import strategies as st
from rounding import units
from typed import as_torch, present

from assay.engine.filtering import Draw, draw
from assay.engine.interface import Generation
from assay.engine.sampling_call import Limits
from assay.engine.torch import voices
from assay.engine.torch.engine import TorchEngine
from assay.engine.torch.flight import Board, Flight, Needs, Pace
from assay.engine.torch.kernels.interface import Kernels
from assay.engine.torch.kernels.plain import PLAIN, attend_shared
from assay.engine.torch.network import Network
from assay.errors import AssayError
from assay.rng import Key
from assay.types import Ids, Request

KEY = Key(11)
KERNELS = st.sampled_from([PLAIN, replace(PLAIN, attend_shared=attend_shared)])
PACES = st.builds(Pace, stride=st.integers(1, 9), behind=st.integers(0, 3))


def letters(ids: Sequence[int]) -> str:
    return "".join("abcdefghijklm"[i] for i in ids)


def engine(rows: int, length: int = 60) -> TorchEngine:
    made = as_torch(engine_of("grouped", precision="fp64", decode=letters))
    made.memory_bytes = rows * voices.row_bytes(made.network, length)
    return made


def same(got: Sequence[Generation], want: Sequence[Generation]) -> None:
    for mine, wanted in zip(got, want, strict=True):
        assert mine.finish == wanted.finish
        np.testing.assert_array_equal(mine.segment.ids, wanted.segment.ids)
        for name in ("old", "mu", "entropy"):
            a, b = getattr(mine.segment, name), getattr(wanted.segment, name)
            np.testing.assert_allclose(a, b, atol=units(1, b))


@st.composite
def asked(draw: st.DrawFn) -> list[Request]:
    contexts = contexts_of(4, seed=draw(st.integers(0, 50)))
    return [
        Request(
            problem_of(i),
            contexts[draw(st.integers(0, 3))],
            "g",
            draw(st.integers(1, 40)),
            sample=i,
            temperature=draw(st.sampled_from([0.0, 0.7, 1.0, 2.0])),
            top_k=draw(st.sampled_from([0, 0, 4])),
            barred=draw(st.sampled_from([(), (), (5,), (2, 3)])),
            stop=draw(st.sampled_from([(), ("c",), ("hg", "bb")])),
        )
        for i in range(draw(st.integers(1, 12)))
    ]


@pytest.mark.slow
@settings(max_examples=15)
@given(
    requests=asked(), pace=PACES, rows=st.integers(1, 6), stays=st.booleans(), most=st.integers(1, 40), kernels=KERNELS
)
def test_answers_do_not_depend_on_when_the_host_looks_and_where_prompts_lie(
    requests: list[Request], pace: Pace, rows: int, stays: bool, most: int, kernels: Kernels
) -> None:
    """With a hearer that ends some answers, prefixes that are kept, decks that stay, and prompts in a store."""

    def hearer(heard: dict[int, list[list[int]]]) -> Callable[[int, Ids], bool]:
        def hear(place: int, ids: Ids) -> bool:
            heard.setdefault(place, []).append(ids.tolist())
            return place % 2 == 0 and len(ids) >= most

        return hear

    results = []
    for looks, own in ((Pace(1, 0), PLAIN), (pace, kernels)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Pace, "of", lambda device, looks=looks: looks)
            one, heard, told = engine(rows), dict[int, list[list[int]]](), dict[int, Generation]()
            one.shelf.stays, one.network.kernels = stays, own
            with one.keeping():
                made = one.generate(
                    requests, KEY, heard=hearer(heard), done=lambda i, g, told=told: told.update({i: g})
                )
                further = [
                    Request(
                        r.problem, np.concatenate([r.context, g.segment.ids[:cut]]), "g", 9, sample=r.sample, draw=cut
                    )
                    for r, g in zip(requests, made)
                    for cut in sorted({0, 1, len(g.segment)})
                ]
                again = one.generate(further, Key(5))
            assert [told[i] for i in range(len(requests))] == made
            for place, parts in heard.items():
                assert parts == [made[place].segment.ids[: k + 1].tolist() for k in range(len(parts))]
            results.append((made, again, heard))
    (plain, later, heard), (late, later_too, heard_too) = results
    same(late, plain)
    same(later_too, later)
    assert heard_too == heard


def test_no_step_is_handed_out_that_no_row_can_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers to their limits: as many steps as their longest has tokens, however late the host looks."""
    monkeypatch.setattr(Pace, "of", lambda device: Pace(8, 1))
    settles, real = list[int](), Board.settle

    def counted(board: Board, low: int, logits: torch.Tensor, needs: Needs, how: Draw) -> None:
        settles.append(len(logits))
        real(board, low, logits, needs, how)

    monkeypatch.setattr(Board, "settle", counted)
    one = as_torch(engine_of("qwen2", precision="fp64", end=None))
    requests = [Request(problem_of(i), c, "g", 21, sample=i) for i, c in enumerate(contexts_of(5))]
    assert [len(g.segment) for g in one.generate(requests, KEY)] == [21] * 5
    assert settles == [5] * 21


def test_logits_that_are_not_finite_are_told_with_their_token_however_late(monkeypatch: pytest.MonkeyPatch) -> None:
    one = as_torch(engine_of("qwen2", precision="fp64", end=None))
    request = Request(problem_of(0), contexts_of(1)[0], "g", 30)
    third = int(one.generate([request], KEY)[0].segment.ids[3])
    with torch.no_grad():
        one.model.model.embed_tokens.weight[third] = float("nan")
    one.load(one.state())
    for pace in (Pace(1, 0), Pace(8, 1)):
        monkeypatch.setattr(Pace, "of", lambda device, pace=pace: pace)
        with pytest.raises(AssayError, match=r"not finite for request .* at answer token 0"):
            one.generate([request], KEY)


def test_the_device_ends_rows_and_the_host_reads_what_was_written_then() -> None:
    """By hand, with logits that are nearly one-hot: one row ends at an end token, one at its limit, one goes on."""
    one = Flight(
        [Request(problem_of(i), contexts_of(1)[0], "g", (9, 2, 9)[i], sample=i) for i in range(3)],
        KEY,
        Limits(100, frozenset({0}), 1 << 20),
        0,
        4,
        torch.float64,
    )
    board = Board(slots=4, width=9, stride=3, vocab=4, device=torch.device("cpu"), wide=torch.float64)
    one.aboard(board, 4)
    one.begin(0, np.arange(3), np.full(3, 5))
    for tokens in ([1, 2, 3], [0, 3, 2], [1, 1, 1]):
        board.settle(0, 99.0 * torch.nn.functional.one_hot(torch.tensor(tokens), 4).double(), one.needs, draw)
        one.ticks += 1
    assert one.wants(3) and one.positions(3).tolist() == [4 + 3, 4 + 2, 4 + 3]
    assert board.live.tolist() == [False, False, True, False] and board.positions(4).tolist() == [6, 6, 7, 0]
    assert sorted(one.look(behind=0).tolist()) == [0, 1]
    assert (one.results[0].segment.ids.tolist(), one.results[0].finish) == ([1, 0], "stop")
    assert (one.results[1].segment.ids.tolist(), one.results[1].finish) == ([2, 3], "length")
    assert one.rows.ids[2, :3].tolist() == [3, 2, 1] and not board.fresh[:, 4].any()


def test_a_network_moves_into_the_memory_that_it_had() -> None:
    """Recorded steps read weights where they lay; the values there are those of a network that is packed anew."""
    one = as_torch(engine_of("qwen3"))
    network = one.network

    def tensors(of: Network) -> list[torch.Tensor]:
        parts = [(layer.qkv.weight, layer.qk_weight, layer.out.weight, layer.up.weight) for layer in of.layers]
        return [present(tensor) for layer in parts for tensor in layer] + [of.head, of.final, of.embedding]

    places = [tensor.data_ptr() for tensor in tensors(network)]
    one.load({k: v + 0.1 if k.startswith("parameter/") else v for k, v in one.state().items()})
    anew = Network(one.model, network.dtype)
    assert [tensor.data_ptr() for tensor in tensors(network)] == places
    for mine, wanted in zip(tensors(network), tensors(anew), strict=True):
        torch.testing.assert_close(mine, wanted, rtol=0, atol=0)
