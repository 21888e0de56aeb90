"""The queue of a served engine: what is put into one call, and what never runs beside each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from serving import bits, served_engine, varied

from assay.engine.interface import Generation, Span
from assay.engine.remote.servers.served_engine import Call, ServedEngine
from assay.engine.remote.transport import messages
from assay.rng import Key
from assay.types import Request

KEY = Key(3)


def until(holds: Callable[[], bool]) -> bool:
    """Whether it holds before long; the limit only keeps a failing test from hanging."""
    end = time.monotonic() + 20
    while not holds() and time.monotonic() < end:
        time.sleep(0.005)
    return holds()


def answers(served: ServedEngine, call: Call) -> list[Generation]:
    found = dict(item for item in served.answers(call) if item is not None)
    return [found[place] for place in range(len(call.requests))]


def counted(served: ServedEngine, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The ids of each call of the engine."""
    calls: list[list[str]] = []
    sound = served.engine.generate

    def generate(requests: Any, key: Key, *, done: Any) -> list[Generation]:
        calls.append([request.id for request in requests])
        return sound(requests, key, done=done)

    monkeypatch.setattr(served.engine, "generate", generate)
    return calls


def single(request: Request, key: Key = KEY) -> Call:
    return Call([request], key, single=True)


def test_single_requests_of_one_key_are_one_call_and_others_keep_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    served, requests, engine = ServedEngine(served_engine()), varied(6), served_engine()
    calls = counted(served, monkeypatch)
    served.pause(5.0)
    served.start()
    whole = Call(requests[:2], KEY)
    asked = [single(requests[0]), single(requests[1]), whole, single(requests[0]), single(requests[2], Key(4))]
    asked += [single(request) for request in requests[3:]]
    for call in asked:
        served.submit(call)
    served.resume()
    try:
        found = [answers(served, call) for call in asked]
    finally:
        served.stop()
    ids = [request.id for request in requests]
    assert calls == [[ids[0], ids[1], *ids[3:]], ids[:2], [ids[0]], [ids[2]]]
    wanted = engine.generate(requests, KEY)
    assert bits(found[2]) == bits(wanted[:2]) and bits(found[0]) == bits(found[3]) == bits(wanted[:1])
    assert bits(found[4]) == bits(engine.generate([requests[2]], Key(4)))
    assert [bits(one) for one in found[5:]] == [bits([one]) for one in wanted[3:]]


@pytest.mark.slow
def test_scoring_and_sampling_never_run_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    served, spans = ServedEngine(served_engine()), [Span(np.array([1], np.int32), np.array([2, 3], np.int32))]
    calls = counted(served, monkeypatch)
    scoring, go, sound, found = threading.Event(), threading.Event(), served.engine.score, []

    def score(given: Any) -> Any:
        scoring.set()
        assert go.wait(timeout=20)
        return sound(given)

    monkeypatch.setattr(served.engine, "score", score)
    served.start()
    thread = threading.Thread(target=lambda: found.extend(served.score(spans, 20.0)))
    thread.start()
    try:
        assert scoring.wait(timeout=20)
        call = Call(varied(3), KEY)
        served.submit(call)
        time.sleep(0.3)  # long enough for the engine's thread to begin, if it would
        assert not calls
        go.set()
        assert len(answers(served, call)) == 3
        thread.join(timeout=20)
        assert found[0].logp.tobytes() == sound(spans)[0].logp.tobytes()
    finally:
        served.stop()


def test_a_pause_waits_for_the_call_under_way_and_gives_up_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    served = ServedEngine(served_engine())
    begun, go, sound = threading.Event(), threading.Event(), served.engine.generate

    def generate(requests: Any, key: Key, *, done: Any) -> list[Generation]:
        begun.set()
        assert go.wait(timeout=20)
        return sound(requests, key, done=done)

    monkeypatch.setattr(served.engine, "generate", generate)
    served.start()
    try:
        first, second = Call(varied(2), KEY), Call(varied(2), Key(4))
        served.submit(first)
        assert begun.wait(timeout=20)
        served.submit(second)
        with pytest.raises(Exception, match=r"did not end within 0\.05 s"):
            served.pause(0.05)
        go.set()
        served.pause(20.0)
        assert len(answers(served, first)) == 2 and until(lambda: not served._running) and served._waiting
        served.resume()
        assert len(answers(served, second)) == 2
    finally:
        go.set()
        served.stop()


def test_an_answer_that_is_read_late_has_the_version_that_wrote_it() -> None:
    """Weights of version 7 came between the last token and the reading."""
    served, (request,) = ServedEngine(served_engine()), varied(1)
    served.start()
    call = Call([request], KEY)
    served.submit(call)
    assert until(lambda: call.answers.qsize() == 2), "the answer, and the end"
    weights = dict(served.engine.tensors())
    served.load_weights(7, weights)
    (made,) = answers(served, call)
    said = messages.answer(made, request, weights=call.weights, plain=False)
    (span,) = said["choices"][0]["weight_versions"]
    assert served.label == "7" and span["version"] == "0"
    assert said["assay"]["weights"] == "" != served.digest
    served.stop()
