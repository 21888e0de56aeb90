"""A world with Python: each play has a session of the sandbox, in which programs of the policy run one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.rng import Key
from assay.sandbox import CellOutcome, Limits, Session
from assay.types import Verdict
from assay.worlds.play import Act, Ask, Call, Line, Reply, Spec, Tool, World
from assay.worlds.speech import FENCE, Compact, Speech
from assay.worlds.tools import Run, Scene, ToolError, takes_text

LIMITS = Limits(seconds=5.0, memory_mb=256, output_kb=256)
LONGEST = 1000  # characters of a reply
CUT = " [cut]"  # what stands behind the part of an output that is left
LINE = Compact(one_line=True)
ANEW = "Nothing that was defined is left."
ABOUT = "Runs Python. What it prints and the value of its last line follow; what it defines stays."

JudgesWords = Callable[[Spec, str], Mapping[str, Verdict]]
"""(spec, the last turn) -> seat -> verdict."""


def interpreter(
    *,
    limits: Limits = LIMITS,
    longest: int = LONGEST,
    speech: Speech = LINE,
    natural: Speech = FENCE,
    beside: Sequence[tuple[Tool, Run]] = (),
    judged: JudgesWords = lambda spec, text: {},
) -> World:
    """The world in which a policy may run programs, which find what the programs before have left. The reply is what a
    program printed, at most so many characters, with the last line of its error. The limits are those of each program:
    one that reaches them ends the session, and the next one begins anew.

    A second play comes to the state of a first one by the same programs. Hash seeds and random numbers are the same in
    every session; the clock is not, so a program that prints the time does not repeat itself.

    Tools `beside` it are functions that keep nothing. `judged` gives verdicts on the last turn, in which no reply
    stands; where it gives none, the task verifies the whole text.

    interpreter(limits=Limits(seconds=2.0), natural=TAGS)
    """

    def start(spec: Spec, key: Key) -> InterpreterPlay:
        return InterpreterPlay(limits, longest, Scene(spec, key), {tool.name: run for tool, run in beside}, judged)

    named = (takes_text("python", "program", ABOUT), *(tool for tool, _ in beside))
    return World(start, speech=speech, natural=natural, tools=named, apart=True, externals=("sandbox",))


@dataclass
class InterpreterPlay:
    """A play of one seat with a session of Python, which begins with the first program."""

    limits: Limits
    longest: int
    scene: Scene
    beside: Mapping[str, Run]
    judged: JudgesWords
    session: Session = field(init=False)
    last: str | None = None  # the turn that called nothing

    def __post_init__(self) -> None:
        self.session = Session(self.limits)

    def open(self) -> Reply:
        return Reply(Ask())

    def step(self, act: Act) -> Reply:
        if not act.calls:
            self.last = act.text
            return Reply(end="ended")
        replies = [self._called(call) for call in act.calls]
        return Reply(Ask(say=tuple(Line(text) for text, _ in replies)), failed=any(failed for _, failed in replies))

    def _called(self, call: Call) -> tuple[str, bool]:
        """The reply to a call, and whether it tells of an error."""
        if call.fault:
            return call.fault, True
        if call.name in self.beside:
            try:
                return self.beside[call.name](self.scene, **call.arguments), False
            except ToolError as error:
                return str(error), True
        said = self.session.ask(str(call.arguments["program"]))
        return told(said, self.longest), bool(said.error)

    def judge(self) -> Mapping[str, Verdict]:
        return {} if self.last is None else self.judged(self.scene.spec, self.last)

    def save(self) -> None:
        """The same programs lead to the same state again."""

    def close(self) -> None:
        self.session.close()


def told(said: CellOutcome, longest: int) -> str:
    """What a program printed, cut, and its error behind it."""
    output = said.output.rstrip("\n")
    if len(output) > longest:
        output = output[:longest] + CUT
    error = said.error if len(said.error) <= longest else said.error[:longest] + CUT
    return "\n".join(filter(None, (output, f"{error}. {ANEW}" if said.ended else error)))
