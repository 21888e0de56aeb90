"""Worked examples before a question: those that `shots` puts into prompts, and the exam that shows with them what a
model knows before any training. This module does not import torch.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.ask.prompts import length_of, reworded
from assay.errors import ConfigError
from assay.policy.conversation import Chat, require_shots
from assay.prompt import Prompt, text_asked
from assay.rng import Key
from assay.source import Pool
from assay.tasks import task
from assay.types import Problem, Request

if TYPE_CHECKING:
    from assay.policy import Tokenizer

IN_VAIN = 1000  # problems that are drawn without finding one more, before there are said to be no more
ANSWERED = 8  # problems whose answers must be known where examples are to be drawn


def question_of(problem: Problem) -> str:
    """The question of a problem, without earlier messages: its prompt, or the last message of it."""
    return text_asked(problem.prompt)


@dataclass(frozen=True)
class Worked:
    """An exam with worked examples before each question, as plain text: what a model knows before any training."""

    codec: Tokenizer  # with the texts that end its answers
    ask: Callable[[list[Request]], list[Request]]  # gives requests their examples
    longest: int  # tokens of the longest of its prompts


def worked(tokenizer: Tokenizer, shots: int, pool: Pool, problems: Sequence[Problem]) -> Worked:
    """The exam on these problems. Each has examples of its own task and level, with nothing said of how to answer:
    that is what examples are for. Mixed kinds, or such words beside the examples, make a small model much worse.
    """
    chats = {kind: _chat_of(kind, shots, pool) for kind in dict.fromkeys(map(_kind, problems))}
    ends = ("\n\n",) if any(chat.stop == ("\n\n",) for chat in chats.values()) else ("\n",)
    codecs = {kind: tokenizer.speaking(dataclasses.replace(chat, stop=ends)) for kind, chat in chats.items()}
    prompts = {one.id: Prompt(_alone(one), one.wording) for one in problems}

    def ask(requests: list[Request]) -> list[Request]:
        return [reworded(one, prompts[one.problem.id], codecs[_kind(one.problem)]) for one in requests]

    longest = max(length_of(prompts[one.id], codecs[_kind(one)]) for one in problems)
    return Worked(next(iter(codecs.values())), ask, longest)


def _kind(problem: Problem) -> tuple[str, int]:
    return problem.task, problem.level


def _chat_of(kind: tuple[str, int], shots: int, pool: Pool) -> Chat:
    name, level = kind
    (share,) = [share for share in pool.shares if share.task == name][:1]
    levels = (level,) if task(name).generator.rows is None else share.levels
    alike = dataclasses.replace(pool, shares=(dataclasses.replace(share, levels=levels),))
    return with_examples(Chat(template="none", shots=shots), alike, asked=_alone)


def _alone(problem: Problem) -> str:
    """The question of a problem, without words on how to answer."""
    return question_of(problem).removesuffix(task(problem.task).wordings.manner).rstrip()


def with_examples(chat: Chat, pool: Pool, *, asked: Callable[[Problem], str] = question_of) -> Chat:
    """The chat settings with the examples that `shots` asks for: other problems of the training split, in the words of
    `asked`, with the answers that are known to be right. They are the same ones for every seed of a run.

    As plain text, an answer ends where the line does, or at an empty line if one of the examples has several.
    """
    if not chat.shots or chat.examples:
        return chat
    pairs = _pairs(chat.shots, pool, "chat.shots", asked)
    lines = any("\n" in answer for _, answer in pairs)
    stop = chat.stop or ((("\n\n",) if lines else ("\n",)) if chat.template == "none" else ())
    return dataclasses.replace(chat, examples=json.dumps(pairs), stop=stop)


def require_examples(shots: int, pool: Pool) -> None:
    """Refuses an exam with examples if the pool has too few of them."""
    require_shots("evaluation.shots", shots)
    _pairs(shots, pool, "evaluation.shots")


def _pairs(
    count: int, pool: Pool, setting: str, asked: Callable[[Problem], str] = question_of
) -> list[tuple[str, str]]:
    """So many different problems of the training split, in the words of `asked`, and their answers; for a setting."""
    key, pairs, drawn, new = Key("shots"), dict[str, tuple[str, str]](), 0, 0
    while len(pairs) < count:
        if drawn - new >= IN_VAIN:
            more = " or give them as chat.examples FILE.json" if setting == "chat.shots" else " or 0"
            raise ConfigError(
                f"{setting} is {count}, and only {len(pairs)} different problems with a known answer were found in the "
                f"training split: take fewer,{more}."
            )
        problem, drawn = pool.problem(key(drawn)), drawn + 1
        if (answer := _answer(problem)) and problem.id not in pairs:
            pairs[problem.id], new = (asked(problem), answer), drawn
    return list(pairs.values())


def answers_known(pool: Pool) -> bool:
    """Whether the answers of the first problems are known, so that there are examples to be drawn."""
    return all(_answer(pool.problem(Key("shots")(i))) for i in range(ANSWERED))


def _answer(problem: Problem) -> str:
    return problem.solution or str(problem.spec.get("gold") or "")
