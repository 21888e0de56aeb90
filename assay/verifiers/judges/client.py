"""Asks a judge many questions: several at once, again after a fault, and not at all while it is down.

A question that stays without an answer has a `Fault`, which becomes `invalid`: it is never a score. All waits come from
a clock that tests replace, and all jitter from a key, so that a run that is repeated waits the same times.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from assay.errors import ConfigError, EndpointError
from assay.rng import Key, digest, uniforms
from assay.verifiers.judges.endpoint import KEY, SERVED, URL, Endpoint, Fault, Message, Said
from assay.verifiers.judges.questions import PROMPTS, JudgeScores, Question, asked, read_reply
from assay.verifiers.judges.request import post

BASE = 1.0  # seconds: the longest wait before the second attempt; it doubles with each further attempt
LONGEST = 30.0  # seconds: a judge that asks for a longer wait is given up for this question
FAILURES, PAUSE = 5, 30.0  # so many faults in a row, and nothing is asked for so many seconds
PAUSED = Fault("judge_down", "not asked: the judge failed several times in a row", True)
FEW = 8  # a call of so many questions, all lost, ends the run


class Clock(Protocol):
    def now(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


class Wall:
    """The clock of the machine."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass
class Breaker:
    """Opens after `FAILURES` faults in a row, for `PAUSE` seconds; then one more fault opens it again.

    Example:
        breaker.open(now=12.0), breaker.note(ok=False, now=12.0)
    """

    faults: int = 0
    until: float = float("-inf")
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, now: float) -> bool:
        with self._lock:
            return now < self.until

    def note(self, *, ok: bool, now: float) -> None:
        with self._lock:
            self.faults = 0 if ok else self.faults + 1
            if self.faults >= FAILURES:
                self.faults, self.until = FAILURES - 1, now + PAUSE


Post = Callable[[Endpoint, Sequence[Message], float], Said | Fault]


@dataclass
class Judge:
    """A judge behind an endpoint, with what it has said so far.

    Example:
        scores = judge_of(Endpoint(url="http://127.0.0.1:8000/v1", model="m")).scores(questions, Key(0))
    """

    endpoint: Endpoint
    post: Post = post
    clock: Clock = field(default_factory=Wall)
    breaker: Breaker = field(default_factory=Breaker)
    _known: dict[str, JudgeScores] = field(default_factory=dict)

    @property
    def name(self) -> str:
        url, model, _ = self.endpoint.resolved()
        return f"judge {model} at {url}"

    def scores(self, questions: Sequence[Question], key: Key) -> list[JudgeScores | Fault]:
        """The scores in the reply to each question, or why there is none. Equal questions are asked once."""
        names = [digest("question", question) for question in questions]
        new = {n: q for n, q in zip(names, questions, strict=True) if n not in self._known}
        found = self._round(new, key("first"))
        if lost := {n: new[n] for n, said in found.items() if said is PAUSED}:
            self.clock.sleep(max(0.0, self.breaker.until - self.clock.now()))
            found |= self._round(lost, key("second"))
        self._known |= {n: said for n, said in found.items() if isinstance(said, JudgeScores)}
        self._require_some(list(found.values()))
        return [self._known[n] if n in self._known else found[n] for n in names]

    def _round(self, questions: dict[str, Question], key: Key) -> dict[str, JudgeScores | Fault]:
        with ThreadPoolExecutor(max(1, self.endpoint.at_once)) as pool:
            said = pool.map(lambda item: self._ask(item[1], key(item[0])), questions.items())
            return dict(zip(questions, said, strict=True))

    def _ask(self, question: Question, key: Key) -> JudgeScores | Fault:
        """One question, with up to `attempts` attempts within its budget."""
        messages, begun = asked(question, key("nonce")), self.clock.now()
        fault = PAUSED
        for attempt in range(self.endpoint.attempts):
            if attempt:
                wait = fault.after if fault.after is not None else _jitter(key, attempt)
                if wait > LONGEST or self.clock.now() + wait - begun > self.endpoint.budget:
                    return fault
                self.clock.sleep(wait)
            if self.breaker.open(self.clock.now()):
                return PAUSED
            left = self.endpoint.budget - (self.clock.now() - begun)
            reply = self.post(self.endpoint, messages, min(self.endpoint.read, max(left, 0.001)))
            outcome = reply if isinstance(reply, Fault) else read_reply(question, reply.text)
            if isinstance(reply, Said):
                SERVED.note(self.name, reply.model)
            self.breaker.note(ok=isinstance(outcome, JudgeScores), now=self.clock.now())
            if isinstance(outcome, JudgeScores):
                return outcome
            fault = outcome
            if not fault.again:
                return fault
        return fault

    def _require_some(self, said: Sequence[JudgeScores | Fault]) -> None:
        """Ends the run where going on makes no sense: a wrong key, or a judge that answers nothing at all."""
        faults = [one for one in said if isinstance(one, Fault)]
        if wrong := [one for one in faults if one.kind == "judge_key"]:
            raise EndpointError(
                f"the judge refuses the key ({wrong[0].detail}). Set {KEY} to the key of the host in {URL}, then go on "
                "with `assay resume`."
            )
        if len(faults) == len(said) >= FEW:
            raise EndpointError(
                f"the judge scored none of {len(said)} answers; the last fault: {faults[-1].kind}, "
                f"{faults[-1].detail}. When it answers again, `assay resume` continues the run."
            )


def _jitter(key: Key, attempt: int) -> float:
    """Full jitter: a wait that is uniform between 0 and BASE 2^(attempt - 1) seconds."""
    return float(uniforms([key("wait", attempt)], 1)[0, 0]) * min(LONGEST, BASE * 2 ** (attempt - 1))


def judge_of(endpoint: Endpoint) -> Judge:
    """The judge of this process behind an endpoint. All callers share what it has said, and whether it is down."""
    url, model, _ = endpoint.resolved()
    return _judge(dataclasses.replace(endpoint, url=url, model=model))


@functools.cache
def _judge(endpoint: Endpoint) -> Judge:
    return Judge(endpoint)


def examine(endpoint: Endpoint) -> dict[str, str]:
    """Lets the judge decide one case that it must accept and one that it must refuse, before a run.

    Returns its name, with the model that its endpoint says has answered and a digest of the prompts that it is given.
    """
    endpoint.resolved()
    cases = [Question("reference", "What is 2 + 2?", (answer,), reference="4") for answer in ("four", "5")]
    scores = judge_of(endpoint).scores(cases, Key("examine"))
    if faults := [score for score in scores if isinstance(score, Fault)]:
        raise EndpointError(
            f"the judge at {endpoint.resolved()[0]} does not judge: {faults[0].kind}, {faults[0].detail}. Start it, or "
            "set ASSAY_JUDGE_URL and ASSAY_JUDGE_MODEL to one that does."
        )
    if scores != [JudgeScores((1.0,)), JudgeScores((0.0,))]:
        raise ConfigError(
            f"the judge {endpoint.resolved()[1]} fails its self-test: it must accept 'four' for 4 and refuse '5'. Take "
            "a stronger model (ASSAY_JUDGE_MODEL)."
        )
    name = judge_of(endpoint).name
    return {name: f"{SERVED.models[name][-1] or 'a model without a name'}, prompts {PROMPTS}"}
