"""A user who is asked, and knows what the policy does not.

The policy asks one question in a turn, and the user answers it, by a script or as a model that plays the user. Either
way the script decides which questions are answered: one that it cannot read, or that asks for more than one thing, is
refused before a model reads it. The user is never told what the policy is to find out, so that no answer can give it
away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.rng import Key
from assay.types import Verdict
from assay.worlds.play import Act, Ask, Line, Play, Reply, Seat, Spec, World
from assay.worlds.speech import COMPACT, Speech
from assay.worlds.tools import ToolError, takes_text

USER = "user"  # the seat of a user whom a model plays, and its role
ASK = takes_text("ask", "question", "Asks the user one thing.")


@dataclass(frozen=True)
class Script:
    """How a user answers.

    Script(answer=lambda spec, question: spec["facts"][question], refusal=lambda question: "?")
    """

    answer: Callable[[Spec, str], str]  # raises `ToolError` for a question that the user does not answer
    refusal: Callable[[str], str]  # what is said to such a question
    told: Callable[[Spec, str], str] = lambda spec, question: question  # what a model that plays the user reads
    most: int = 24  # tokens of an answer that a model writes
    longest: int = 200  # characters of a question; a longer one is refused


@dataclass
class Talk:
    """A play in which a policy asks a user. It may ask `spec["most"]` questions; a further one ends the play."""

    spec: Spec
    script: Script
    played: bool = False  # a model plays the user
    asked: int = 0
    open_question: str = ""  # that the user's model answers now

    def open(self) -> Reply:
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        if act.seat == USER:
            return self._answered(act.text)
        if not act.calls:
            return Reply(end="ended")
        if self.asked >= self.spec["most"]:
            return Reply(end="limit")
        self.asked += 1
        call = act.calls[0]
        question = str(call.arguments.get("question", "")).strip()
        try:
            if call.fault or len(act.calls) > 1 or len(question) > self.script.longest:
                raise ToolError("one question at a time")
            answer = self.script.answer(self.spec, question)
        except ToolError:
            return Reply(Ask(say=(Line(self.script.refusal(question)),)), failed=True)
        if not self.played:
            return Reply(Ask(say=(Line(answer),)))
        self.open_question = question
        told = Line(self.script.told(self.spec, question), author=USER)
        return Reply(Ask(USER, say=(told,), context="replace", most=self.script.most))

    def _answered(self, text: str) -> Reply:
        """What a model says in the user's place: its first line, in characters that can be printed."""
        line = next(iter(text.strip().splitlines()), "").strip()
        said = "".join(letter for letter in line[: self.script.longest] if letter.isprintable() and letter.isascii())
        refused = not said
        return Reply(Ask(say=(Line(said or self.script.refusal(self.open_question)),)), failed=refused)

    def judge(self) -> Mapping[str, Verdict]:
        """The task judges the policy, by its answer."""
        return {}

    def save(self) -> bytes:
        return json.dumps([self.asked, self.open_question]).encode()

    def close(self) -> None:
        """It holds nothing."""


def user(script: Script, *, sees: tuple[str, ...] = (), speech: Speech = COMPACT, natural: Speech) -> World:
    """The world of a user who answers. With `sees`, the fields of the problem that the user alone may read, the user is
    a seat of its own, which the model of the role `user` plays; it does not train.

    user(Script(answer=..., refusal=...), natural=TAGS)
    """
    played = bool(sees)

    def start(spec: Spec, key: Key) -> Play:
        return Talk(spec, script, played)

    def resume(spec: Spec, key: Key, saved: bytes) -> Play:
        return Talk(spec, script, played, *json.loads(saved))

    seats = (Seat(), Seat(USER, role=USER, trains=False, sees=sees)) if played else (Seat(),)
    return World(start, seats, speech=speech, tools=(ASK,), resume=resume, fork="save", natural=natural)
