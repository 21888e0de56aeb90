"""What a pretrained model needs that a small model of characters does not: problems in words, an adapter, few answers a
step. This module does not import torch.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.engine.footprint import parameters
from assay.errors import AssayError, ConfigError
from assay.host.files import read_json
from assay.policy.chat import OURS
from assay.policy.conversation import Chat, require_shots
from assay.policy.messages import text_of
from assay.rng import Key
from assay.run.bases import BASES, resolved
from assay.run.configure import override
from assay.run.context_fit import PROBE
from assay.run.experiment import Experiment
from assay.run.memory_plan import folder_below, is_adapter, shape_of
from assay.source import Pool
from assay.tasks import task
from assay.tasks.words import BRIEFLY
from assay.types import Problem, Request
from assay.verifiers.answers import Wording

if TYPE_CHECKING:
    from assay.policy import Tokenizer

LARGE = 10_000_000  # parameters: no model of so many was made here
BESIDE: dict[str, dict[str, tuple[Any, str]]] = {
    "processor": {
        "lora.rank": (16, "an adapter: it learns as fast as all weights in half of the memory"),
        "evaluation.every": (0, "an exam costs as much as several steps: before and after training alone"),
        "evaluation.final_problems": (48, "48 problems in each of these"),
        "evaluation.shots": (4, "the untrained model with four examples: what training must beat to teach anything"),
        "evaluation.temperature": (0.7, "the temperature of training"),
        "machine.micro_tokens": (1024, "1,024 tokens in a pass"),
    }
}
"""Profile -> what it sets beside the scale."""


def reads_text(model: str) -> bool:
    """Whether a model was trained on text by somebody else: it has a chat template of its own, or is larger than any
    that is made here, or is on the Hub.
    """
    model = resolved(model)
    if not Path(model).exists():
        return model not in BASES
    shape = shape_of(model)
    return (shape is not None and parameters(shape) > LARGE) or _template(model) not in (None, *OURS)


def _template(model: str) -> Any:
    try:
        folder = folder_below(model)
        if (jinja := folder / "chat_template.jinja").is_file():
            return jinja.read_text(errors="replace")
        return read_json(folder / "tokenizer_config.json").get("chat_template")
    except (OSError, AssayError):
        return None  # loading the model will report the same problem, with advice


def wording_for(model: str | None) -> Wording:
    """How problems are worded for a model; None: one of the bases, which the task chooses."""
    return "natural" if model is not None and reads_text(model) else "compact"


def at_its_profile(experiment: Experiment, asked: Mapping[str, Any]) -> tuple[Experiment, list[str]]:
    """The experiment with what its profile sets beside the scale, but for what was `asked`; and a line for each."""
    rules = BESIDE.get(experiment.profile, {})
    lines = []
    for path, (value, reason) in rules.items():
        if path in asked or _without(path, experiment):
            continue
        lines.append(f"{path}: {_value(experiment, path)} -> {value} ({reason})")
        experiment = override(experiment, path, value)
    return experiment, lines


def _without(path: str, experiment: Experiment) -> bool:
    """Whether a run cannot have this: an adapter on an adapter, or examples of problems without known answers."""
    if path == "evaluation.shots":
        pool = experiment.pool
        return not all(_answer(pool.problem(Key("shots")(i))) for i in range(ANSWERED))
    return path == "lora.rank" and is_adapter(experiment.model)


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
    contexts = {one.id: codecs[_kind(one)].render(_alone(question_of(one))) for one in problems}

    def ask(requests: list[Request]) -> list[Request]:
        return [dataclasses.replace(one, context=contexts[one.problem.id]) for one in requests]

    return Worked(next(iter(codecs.values())), ask, max(map(len, contexts.values())))


def _kind(problem: Problem) -> tuple[str, int]:
    return problem.task, problem.level


def _chat_of(kind: tuple[str, int], shots: int, pool: Pool) -> Chat:
    name, level = kind
    (share,) = [share for share in pool.shares if share.task == name][:1]
    levels = (level,) if task(name).rows is None else share.levels
    alike = dataclasses.replace(pool, shares=(dataclasses.replace(share, levels=levels),))
    chat = with_examples(Chat(template="none", shots=shots), alike)
    pairs = [(_alone(question), answer) for question, answer in chat.worked]
    return dataclasses.replace(chat, examples=json.dumps(pairs))


def _alone(question: str) -> str:
    return question.removesuffix(BRIEFLY).rstrip()


def _value(record: Any, path: str) -> Any:
    for name in path.split("."):
        record = getattr(record, name)
    return record


IN_VAIN = 1000  # problems that are drawn without finding one more, before there are said to be no more
ANSWERED = 8  # problems whose answers must be known where examples are to be drawn
ROOM, SHARE, UNKNOWN = 24, 3, 256  # tokens to say it in a sentence; characters a token; a solution that is not known


def answer_tokens(pool: Pool) -> int:
    """The most tokens of an answer to these problems by a model with tokens of some letters each: what the longest of
    the probed solutions takes at three characters a token, and a sentence around it.
    """
    key = Key("probe")
    known = [pool.problem(key(i)).solution for i in range(PROBE)]
    if not all(known):
        return UNKNOWN
    needed = ROOM + max(len(text or "") for text in known) / SHARE
    return 8 * -(-round(needed) // 8)


def with_examples(chat: Chat, pool: Pool) -> Chat:
    """The chat settings with the examples that `shots` asks for: other problems of the training split, with the answers
    that are known to be right. They are the same ones for every seed of a run.

    As plain text, an answer ends where the line does, or at an empty line if one of the examples has several.
    """
    if not chat.shots or chat.examples:
        return chat
    pairs = _pairs(chat.shots, pool, "chat.shots")
    lines = any("\n" in answer for _, answer in pairs)
    stop = chat.stop or ((("\n\n",) if lines else ("\n",)) if chat.template == "none" else ())
    return dataclasses.replace(chat, examples=json.dumps(pairs), stop=stop)


def require_examples(shots: int, pool: Pool) -> None:
    """Refuses an exam with examples of which the pool has too few."""
    require_shots("evaluation.shots", shots)
    _pairs(shots, pool, "evaluation.shots")


def _pairs(count: int, pool: Pool, setting: str) -> list[tuple[str, str]]:
    """So many different problems of the training split with their answers; `setting` asks for them."""
    key, found, drawn, new = Key("shots"), dict[str, tuple[str, str]](), 0, 0
    while len(found) < count:
        if drawn - new >= IN_VAIN:
            more = " or give them as chat.examples FILE.json" if setting == "chat.shots" else " or 0"
            raise ConfigError(
                f"{setting} is {count}, and only {len(found)} different problems with a known answer were found in the "
                f"training split: take fewer,{more}."
            )
        problem, drawn = pool.problem(key(drawn)), drawn + 1
        if (answer := _answer(problem)) and problem.id not in found:
            found[problem.id], new = (question_of(problem), answer), drawn
    return list(found.values())


def question_of(problem: Problem) -> str:
    """What a problem asks, without what stands before it: its prompt, or the last message of it."""
    prompt = problem.prompt
    return prompt if isinstance(prompt, str) else text_of(prompt[-1].get("content") or "")


def _answer(problem: Problem) -> str:
    return problem.solution or str(problem.spec.get("gold") or "")
