"""A run through our server has bit for bit the answers of the same engine in this process."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
import urllib.request
from typing import Any

import numpy as np
import pytest
from engine_cases import Default
from serving import SECRET, bits, own, sampling, served_engine, serving, varied

from assay.engine.interface import Generation
from assay.engine.remote.inside_vllm.assay_door import named
from assay.engine.remote.transport.messages import asking, packed, unpacked
from assay.rng import Key

KEY = Key(3)
TOLD = {"Authorization": named(SECRET), "Content-Type": "application/json"}


@pytest.mark.parametrize("kind", ["native", "fp32", pytest.param("adapter", marks=pytest.mark.slow)])
def test_answers_through_a_server_are_those_of_the_engine_bit_for_bit(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "adapter":
        monkeypatch.setattr(Default, "kind", kind)
        kind = "fp32"
    requests, told, threads = varied(), {}, set()

    def done(place: int, made: Generation) -> None:
        told[place] = made
        threads.add(threading.get_ident())

    engine = served_engine(kind)
    wanted = bits(engine.generate(requests, KEY))
    with serving(served_engine(kind)) as server, sampling(engine, *own(server)) as sampler:
        ticket = sampler.submit(requests, KEY, done=done)
        found = ticket.wait()
        assert bits(found) == wanted and ticket.ready
        assert all(told[place] is made for place, made in enumerate(found)) and len(told) == len(requests)
        assert threads == {threading.get_ident()}
        assert {one.finish for one in found} == {"stop", "length"} and not any(one.spans for one in found)
        end = time.monotonic() + 10
        while sampler.prefilled != engine.prefilled and time.monotonic() < end:
            time.sleep(0.01)
        assert sampler.prefilled == engine.prefilled and sampler.exact is False


@pytest.mark.slow
def test_answers_do_not_depend_on_how_many_are_asked_at_once_nor_on_their_order() -> None:
    """Of the compiled core, whose rows do not depend on each other: one by one, backwards, and in pieces at once."""
    requests, engine = varied(), served_engine()
    wanted = bits(engine.generate(requests, KEY))
    with (
        serving(served_engine()) as first,
        serving(served_engine()) as second,
        sampling(engine, *own(first, second)) as sampler,
    ):
        alone = [sampler.generate([request], KEY)[0] for request in requests[:7]]
        backwards = sampler.generate(requests[::-1], KEY)[::-1]
        tickets = [sampler.submit(requests[at : at + 5], KEY) for at in range(0, len(requests), 5)]
        pieces = [one for ticket in reversed(tickets) for one in ticket.wait()[::-1]][::-1]
        other = sampler.generate(requests, Key(4))
    assert bits(alone) == wanted[:7] and bits(backwards) == wanted and bits(pieces) == wanted
    assert bits(other) == bits(engine.generate(requests, Key(4))) != wanted


@pytest.mark.slow
def test_single_requests_of_many_clients_are_gathered_and_keep_their_bits() -> None:
    requests, engine = varied(), served_engine()
    wanted = engine.generate(requests, KEY)
    found: dict[int, Any] = {}
    with serving(served_engine()) as server:

        def ask(place: int) -> None:
            body = json.dumps(asking(requests[place], KEY)).encode()
            url = f"{server.address}/inference/v1/generate"
            with urllib.request.urlopen(urllib.request.Request(url, body, TOLD), timeout=30) as reply:
                found[place] = json.load(reply)

        threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(requests))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
    for place, made in enumerate(wanted):
        said, segment = found[place], made.segment
        (choice,) = said["choices"]
        assert choice["token_ids"] == segment.ids.tolist() and choice["finish_reason"] == made.finish
        for name in ("old", "mu", "entropy"):
            stream = unpacked(said["assay"][name], len(segment))
            assert stream is not None and stream.tobytes() == getattr(segment, name).tobytes()
        logp = np.array([token["logprob"] for token in choice["logprobs"]["content"]], np.float32)
        likely = segment.old if requests[place].temperature == 0 else segment.mu
        assert likely is not None and logp.tobytes() == likely.tobytes()
        assert choice["weight_versions"] == [{"version": "0", "start": 0, "end": len(segment)}]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["native", "fp32"])
def test_turns_that_share_a_cache_keep_their_bits(kind: str) -> None:
    """Two calls inside `keeping`, the second with the answers of the first as prefixes, as in answers in turns."""
    first, engine = varied(12, stop=()), served_engine(kind)

    def turns(sampler: Any) -> list[Any]:
        with sampler.keeping():
            made = sampler.generate(first, KEY)
            further = [
                dataclasses.replace(request, prefix=(*request.prefix, one.segment), parent=request.id, max_new=5)
                for request, one in zip(first, made, strict=True)
            ]
            return [*bits(made), *bits(sampler.generate(further, KEY))]

    with serving(served_engine(kind)) as server, sampling(engine, *own(server)) as sampler:
        assert turns(sampler) == turns(engine)
        assert bits(sampler.generate(first, KEY)) == bits(engine.generate(first, KEY))


def test_streams_come_back_bit_for_bit() -> None:
    odd = np.array([np.nan, -np.inf, -0.0, 1e-45, 3.4e38, -1.5], np.float32)
    again = unpacked(packed(odd), len(odd))
    assert again is not None and again.tobytes() == odd.tobytes() and unpacked(packed(None), 3) is None
    with pytest.raises(ValueError):
        unpacked(packed(odd), 5)
