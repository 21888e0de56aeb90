"""The door: agents that are foreign programs as a world. What a program asks for is what the policy is asked next.

Each play has an address and a key of its own, so that an agent which knows nothing but OpenAI's interface needs nothing
else. A request whose messages go on from the last one is appended to what the policy has read; any other replaces it.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import shlex
import threading
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.rng import Key
from assay.types import Verdict
from assay.worlds.door.chat import ChatAsked, Ended, Heard, Refused, TokensAsked, chat_of
from assay.worlds.door.http import TURN, DoorServer, same, wrong_token
from assay.worlds.door.program import AgentProgram
from assay.worlds.door.replies import before_stops, spoken
from assay.worlds.play import Act, Ask, Reply, Spec, World

MODEL = "policy"  # the name of the model, for agents
SCORE = "agent"  # the name of the reward that an agent gives itself
PATIENT = 0.9  # of the time for a reply: the play gives up before its process is ended, and other plays with it


@dataclass(frozen=True)
class DoorSettings:
    """How agents are run.

    DoorSettings("python agent.py", rewarded="agent", seconds=60.0)
    """

    command: str
    rewarded: Literal["verifier", "agent"] = "verifier"
    seconds: float = 60.0  # that an agent may take until it asks again, or ends

    @property
    def line(self) -> list[str]:
        return shlex.split(self.command)

    def world(self) -> World:
        return World(self.start, fork="no", apart=True, door=json.dumps(dataclasses.asdict(self)))

    def start(self, spec: Spec, key: Key) -> DoorPlay:
        return DoorPlay(self, spec)


def world_of_door(written: str) -> World:
    """The world of the settings that `World.door` holds."""
    return DoorSettings(**json.loads(written)).world()


class _OpenPlays:
    """The plays of this process that programs may ask in, and the server that they ask."""

    def __init__(self) -> None:
        self._plays: dict[str, DoorPlay] = {}
        self._server: DoorServer | None = None
        self._lock = threading.Lock()

    def admit(self, play: str, token: str) -> DoorPlay:
        known = self._plays.get(play)
        if known is None:
            raise wrong_token(token) if not play else Refused(404, "there is no such play, or it is over.")
        if not same(token, known.token):
            known.spoil("the agent sent a wrong key")
            raise wrong_token(token)
        return known

    def enter(self, play: DoorPlay) -> str:
        """The address at which a program asks in this play."""
        with self._lock:
            if self._server is None:
                self._server = DoorServer(self)
                self._server.start()
            self._plays[play.name] = play
        return f"{self._server.address}/plays/{play.name}/v1"

    def leave(self, play: DoorPlay) -> None:
        self._plays.pop(play.name, None)


_OPEN = _OpenPlays()


@dataclass(eq=False)
class _Question:
    """A request of an agent, and the answer to it when the policy has written one."""

    asked: ChatAsked
    answer: Ended | None = None
    heard: bool = False  # the client has the answer
    clients: int = 1  # that wait for it


@dataclass(eq=False)
class DoorPlay:
    """A play of one seat, in which an agent asks."""

    settings: DoorSettings
    spec: Spec
    model: str = MODEL
    context: int = 0
    vocab: int = 0
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    turns: int = 0

    def __post_init__(self) -> None:
        self._news = threading.Condition()
        self._agent: AgentProgram | None = None
        self._question: _Question | None = None  # the last one
        self._taken = True  # the world has told of the last question
        self._session: str | None = None
        self._read: tuple[Mapping[str, Any], ...] = ()  # the messages of the last question, with the answer to it
        self._tools: tuple[Mapping[str, Any], ...] = ()
        self._fault = self._told_fault = ""
        self._ended = False  # the program
        self._over = False

    # As the collector sees it

    def open(self) -> Reply:
        address = _OPEN.enter(self)
        how = {"address": address, "token": self.token, "model": self.model}
        self._agent = AgentProgram(self.settings.line, self._problem(), **how)
        for work in (self._agent.tell, self._watch):
            threading.Thread(target=work, daemon=True).start()
        return self._replied()

    def step(self, act: Act) -> Reply:
        with self._news:
            question = self._question
            if question is None or question.answer is not None:
                return Reply(fault=self._fault or "the agent did not ask, and was answered")
            finish = "length" if act.finish == "length" else "stop"
            text = before_stops(act.text, question.asked.stops)
            question.answer = Ended(0, text, finish, mark=self._mark)
            said = spoken(text, question.asked.known, self._mark)
            self._read = (*question.asked.messages, _as_read(said.message))
            self.turns += 1
            self._news.notify_all()
        return self._replied()

    def judge(self) -> Mapping[str, Verdict]:
        if self._told_fault:  # where the acts were taken again, nobody has read the replies
            raise RuntimeError(self._told_fault)
        if self.settings.rewarded == "verifier":
            return {}
        if not self._ended or self._agent is None:  # a limit cut the answer, and the agent has not seen the end of it
            return {"policy": Verdict("fail", "truncated", scores={SCORE: 0.0})}
        reward = self._agent.reward()
        assert reward is not None, "an agent without a reward is a fault, and nobody judges it"
        return {
            "policy": Verdict("ok" if reward >= 1 else "fail", "" if reward >= 1 else "wrong", scores={SCORE: reward})
        }

    def save(self) -> bytes | None:
        return None

    def close(self) -> None:
        _OPEN.leave(self)
        with self._news:
            self._over = True
            self._news.notify_all()
        if self._agent is not None:
            self._agent.close()
            self._agent = None

    def _problem(self) -> Mapping[str, Any]:
        """What the agent is told: all of it if it rewards itself, else nothing that only a verifier may know."""
        told = {name: self.spec[name] for name in ("prompt", "columns", "task", "id") if name in self.spec}
        return {**told, "spec": self.spec["spec"]} if self.settings.rewarded == "agent" else told

    def _watch(self) -> None:
        """Notes that the program has ended."""
        agent = self._agent
        if agent is not None:
            agent.wait()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _replied(self) -> Reply:
        reply = self._next()
        self._told_fault = self._told_fault or reply.fault
        return reply

    def _next(self) -> Reply:
        """What the agent asks next, or how it ended."""
        patience = time.monotonic() + self.settings.seconds * PATIENT
        with self._news:
            while not (self._fault or self._ended or self._over or not self._taken):
                if not self._news.wait(timeout=patience - time.monotonic()) and time.monotonic() > patience:
                    self._fault = f"the agent did not ask or end within {self.settings.seconds * PATIENT:g} s"
            if self._fault:
                return Reply(fault=self._fault)
            if not self._taken:
                return self._told()
        return self._last()

    def _told(self) -> Reply:
        question = self._question
        assert question is not None
        self._taken = True
        asked, known = question.asked, len(self._read)
        goes_on = 0 < known < len(asked.messages) and asked.tools == self._tools
        goes_on = goes_on and list(map(_plain, asked.messages[:known])) == list(map(_plain, self._read))
        goes_on = goes_on and all(message["role"] != "assistant" for message in asked.messages[known:])
        self._tools = asked.tools
        new = asked.messages[known:] if goes_on else asked.messages
        context: Literal["append", "replace"] = "append" if goes_on else "replace"
        return Reply(Ask(context=context, most=asked.most, messages=new, tools=asked.tools, stops=asked.stops))

    def _last(self) -> Reply:
        """The end of the play, now that the program has ended."""
        if self._agent is None:
            return Reply(fault="the play is over")
        if fault := self._agent.failure():
            return Reply(fault=fault)
        if not self.turns:
            return Reply(fault="the agent ended before it asked for anything")
        if self.settings.rewarded == "agent" and self._agent.reward() is None:
            return Reply(fault='the last line of the agent\'s output is no {"reward": NUMBER}')
        return Reply(end="ended")

    # As its clients see it

    def spoil(self, fault: str) -> None:
        """The play counts for nothing: something is wrong with its agent."""
        with self._news:
            self._fault = self._fault or fault
            self._news.notify_all()

    @property
    def _mark(self) -> str:
        return f"{self.name[:4]}-{self.turns}"

    def chat(self, asked: ChatAsked, session: str) -> Generator[Heard, None, None]:
        """Asks the policy. The answer comes whole, because the run samples the turns of many plays together."""
        if asked.count != 1 or asked.logprobs or asked.forced is not None:
            self.spoil("the agent asked for what no play of a run has")
            raise Refused(400, "in a run n is 1, logprobs are the run's own, and tool_choice is auto or none.")
        question = self._asking(asked, session)
        return self._answers(question)

    def tokens(self, asked: TokensAsked) -> Generator[Heard, None, None]:
        raise Refused(400, "a play is asked with messages.")

    def _asking(self, asked: ChatAsked, session: str) -> _Question:
        with self._news:
            last = self._question
            if self._over or self._fault:
                raise Refused(409, self._fault or "the play is over.")
            self._session = self._session or session or None
            if session and session != self._session:
                raise self._conflict(f"X-Session-ID is {session!r:.40}, and the play is that of {self._session!r:.40}")
            if last is not None and not last.heard and last.asked.messages == asked.messages and not last.clients:
                last.clients += 1  # the same client again, which had hung up
                return last
            if last is not None and last.answer is None:
                raise self._conflict("a request of this play waits for its answer, and another came")
            self._question, self._taken = _Question(asked), False
            self._news.notify_all()
            return self._question

    def _conflict(self, why: str) -> Refused:
        self._fault = self._fault or f"one play is one conversation: {why}"
        self._news.notify_all()
        return Refused(409, f"{self._fault}.", kind="conflict_error")

    def _answers(self, question: _Question) -> Generator[Heard, None, None]:
        try:
            while True:
                with self._news:
                    self._news.wait_for(lambda: question.answer or self._over or self._fault, timeout=TURN)
                    answer = question.answer
                    if answer is None and (self._over or self._fault):
                        raise Refused(503, self._fault or "the play is over.", kind="server_error")
                if answer is not None:
                    yield answer
                    question.heard = True
                    return
                yield None
        finally:
            with self._news:
                question.clients -= 1


def _plain(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message without the names of its calls, which some clients give anew."""
    calls = [{name: value for name, value in call.items() if name != "id"} for call in message.get("tool_calls", ())]
    return {**message, "tool_calls": calls, "tool_call_id": None}


def _as_read(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """An answer as a client sends it back."""
    return chat_of({"messages": [message]}).messages[0]
