"""A conversation with a policy: what is kept of it, what the policy reads at each turn, and the answer as it comes."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import DataError, UsageError
from assay.lab.sample import check_sampling, open_engine
from assay.policy.kinds import tokenizer_of
from assay.rng import Key
from assay.run.ancestry import origin
from assay.types import Ids, Problem, Request

if TYPE_CHECKING:
    from assay.engine.local import LocalEngine
    from assay.engine.precision import Precision
    from assay.policy.chat import Message
    from assay.policy.tokenizer import Tokenizer

LONG = 512  # default length of an answer in tokens, for a model that is not a run
WARM = 0.7  # the temperature of answers by a model that is not a run: small models ramble at 1
NEXT_TURN = "\nUser:"  # with which a model without a chat template would go on to speak for the person
UNFINISHED = "\ufffd"  # stands for a character of which some bytes are missing

Said = Callable[[str], bool]
"""(text that was written since the last call) -> whether the answer ends here."""


@dataclass(frozen=True)
class Turn:
    """A question and its answer. `cut` says that the answer did not end by itself, and `limited` that it was as long as
    an answer may be.
    """

    question: str
    answer: str
    tokens: int
    cut: bool
    limited: bool
    left_out: bool  # whether older exchanges were left out for the first time
    seconds: float


class Dialogue:
    """A conversation with one policy. The question to each turn is read after all that was said before.

    with open_dialogue("smollm2", max_new=64, temperature=0.0) as dialogue:
        dialogue.ask("What is the capital of France?", said=show).answer
        dialogue.ask("And of Spain?", said=show).answer

    The chat template renders the whole conversation at each turn; keys and values of what was read before are in the
    engine's prefix cache. Answer number n is drawn with the numbers of sample n, so that the first one is that of
    `assay sample` with the same seed.
    """

    def __init__(
        self, tokenizer: Tokenizer, engine: LocalEngine, *, max_new: int, temperature: float, top_p: float, seed: int
    ) -> None:
        self.tokenizer, self.engine, self.max_new = tokenizer, engine, max_new
        self.how = {"temperature": temperature, "top_p": top_p, "stop": stops_of(tokenizer)}
        self.key = Key(seed)("sample")
        self.asked = 0
        self.clear()

    def clear(self) -> None:
        """Begins anew: nothing of what was said is read any more."""
        self.messages: list[Message] = []
        self.overflowed = False

    def instruct(self, system: str) -> None:
        """Gives another system message, which is read from the next question on; "" takes it away."""
        changed = self.tokenizer.speaking(dataclasses.replace(self.tokenizer.chat, system=system))
        changed.require_system()
        self.tokenizer = changed

    def ask(self, question: str, said: Said) -> Turn:
        """Asks a question. `said` gets the answer piece by piece, each of whole characters.

        What was written stays in the conversation, also if the answer was cut. An exchange in which nothing was written
        leaves no trace.
        """
        began = time.perf_counter()
        messages, ids = self._read([*self.messages, {"role": "user", "content": question}])
        left_out = len(messages) <= len(self.messages)
        problem = Problem(task="prompt", prompt=question, spec={}, canonical=question)
        request = Request(problem, ids, "prompt", self.max_new, sample=self.asked, **self.how)
        listener = Listener(self.tokenizer, said)
        (made,) = self.engine.generate([request], self.key, heard=listener)
        self.asked += 1
        limited = made.finish == "length"
        answer = listener.finished(made.segment.ids, whole=not (limited or listener.ended))
        if answer.strip():
            self.messages = [*messages, {"role": "assistant", "content": answer}]
        told = left_out and not self.overflowed
        self.overflowed |= left_out
        return Turn(
            question=question,
            answer=answer,
            tokens=len(made.segment),
            cut=limited or listener.ended,
            limited=limited,
            left_out=told,
            seconds=time.perf_counter() - began,
        )

    def _read(self, messages: list[Message]) -> tuple[list[Message], Ids]:
        """The messages that the policy reads, and their tokens. Where all do not fit, the oldest exchanges are left out
        until a quarter of the room is free: else every further turn would have to be read from its beginning again.
        """
        room, ids = self.engine.context - self.max_new, self.tokenizer.render(messages)
        enough = room if len(ids) <= room else room * 3 // 4
        while len(ids) > enough and len(messages) > 1:
            messages = messages[2:]
            ids = self.tokenizer.render(messages)
        if len(ids) > room:
            raise DataError(
                f"the message has {len(ids)} tokens, with what the chat template writes around it. The context of the "
                f"model holds {self.engine.context}, of which {self.max_new} are kept for the answer (--max-new), so "
                f"that a message may have {room}: shorten it."
            )
        return messages, ids


class Listener:
    """Hears the tokens of an answer, and says its text in pieces that later tokens cannot change.

    It holds back a character with missing bytes, blanks at the end, and the beginning of a stop string. After `said`
    has wanted an end, it gets the rest that was written until then when the answer is finished.
    """

    def __init__(self, tokenizer: Tokenizer, said: Said) -> None:
        self.tokenizer, self.said = tokenizer, said
        self.stops = stops_of(tokenizer)
        self.spoken = 0  # characters that were said
        self.ended = False

    def __call__(self, place: int, ids: Ids) -> bool:
        if not self.ended:
            self.ended = self._say(settled(self._text(ids), self.stops))
        return self.ended

    def finished(self, ids: Ids, *, whole: bool) -> str:
        """The text of the answer; says the rest of it that was not said yet. An answer that is not whole may end within
        a character: this part of a character is left out.
        """
        text = self._text(ids)
        for stop in self.stops:
            text = text.partition(stop)[0].rstrip()
        text = text if whole else text.rstrip(UNFINISHED)
        self._say(text.rstrip())
        return text

    def _text(self, ids: Ids) -> str:
        written = ids.tolist()
        if written and written[-1] in self.tokenizer.end_ids:
            written.pop()
        text = self.tokenizer.decode(written)
        return text.lstrip() if self.stops else text

    def _say(self, text: str) -> bool:
        piece = text[self.spoken :]
        self.spoken = max(self.spoken, len(text))
        return self.said(piece)


def settled(text: str, stops: tuple[str, ...]) -> str:
    """The part of an unfinished text that may be shown: later text cannot take any of it back.

    settled("Paris.\\nUs", ("\\nUser:",))  # "Paris."
    """
    for stop in stops:
        text = text.partition(stop)[0]
        begun = next((n for n in range(len(stop) - 1, 0, -1) if text.endswith(stop[:n])), 0)
        text = text[: len(text) - begun]
    return text.rstrip(UNFINISHED).rstrip()


def stops_of(tokenizer: Tokenizer) -> tuple[str, ...]:
    """The texts that end an answer, beside end tokens: those of the chat settings and, without a chat template, the
    next turn, because a model then knows no other end of its own.
    """
    return (*tokenizer.stops, *((NEXT_TURN,) if tokenizer.template is None else ()))


@contextmanager
def open_dialogue(
    model: str,
    *,
    max_new: int | None = None,
    temperature: float | None = None,
    top_p: float = 1.0,
    seed: int = 0,
    system: str | None = None,
    precision: Precision = "auto",
) -> Iterator[Dialogue]:
    """A conversation with a model or with the policy of a run, which brings its own chat settings, answer length and
    temperature.
    """
    from assay.engine.choose import processor_of

    run = origin(model)
    if temperature is None:
        temperature = WARM if run is None else run.experiment.evaluation.temperature
    check_sampling(max_new=max_new, temperature=temperature, top_p=top_p)
    policy, engine = open_engine(model, system=system, precision=precision)
    words = tokenizer_of(policy, "a conversation")
    if max_new is None:
        usual = LONG if run is None else run.experiment.recipe.scale.max_new
        max_new = min(usual, max(1, engine.context // 2))
    if max_new >= engine.context:
        raise UsageError(
            f"--max-new is {max_new}, and the context of the model holds {engine.context} tokens: leave room for a "
            "question."
        )
    with engine.keeping(), processor_of(engine):
        yield Dialogue(words, engine, max_new=max_new, temperature=temperature, top_p=top_p, seed=seed)
