"""Reward functions that were written for verl or OpenRLHF, called as those systems call them.

verl asks a function about one answer, and names the data set, the answer and the gold; OpenRLHF asks about a batch of
queries, prompts and labels. Such a function is told by the names of its arguments, and needs no line of its own here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.prompt import text_of

VERL = ("data_source", "solution_str", "ground_truth", "extra_info")
OPENRLHF = ("queries", "prompts", "labels")
OURS = ("completions", "completion_ids")
NOT_OF_ROWS = ("prompts", "completion_ids")  # arguments of every function, beside the columns of rows


def adapted(call: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one of f(completions, **columns), if its arguments are those of another system; else itself.

    adapted(compute_score)(completions=["4"], prompts=["2+2?"], gold=["4"])  # [compute_score(solution_str="4", ...)]
    """
    try:
        names = inspect.signature(call).parameters
    except (TypeError, ValueError):  # a builtin
        return call
    needed = {name for name, at in names.items() if at.default is at.empty and at.kind is at.POSITIONAL_OR_KEYWORD}
    if set(OURS) & set(names):
        return call
    if {"solution_str", "ground_truth"} <= set(names) and needed <= set(VERL):
        return _named(_one_by_one(call, [name for name in VERL if name in names]), call)
    if set(OPENRLHF) <= set(names) and needed <= set(OPENRLHF):
        return _named(_batch(call), call)
    return call


def _named(made: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """The function under the name of the one that it calls, for messages."""
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(made, name, getattr(call, name, getattr(made, name)))
    return made


def _one_by_one(call: Callable[..., Any], takes: Sequence[str]) -> Callable[..., Any]:
    """A function of verl's, which is asked about each answer with its row."""

    def questions(completions: Sequence[Any], columns: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [_question(_text(completions[at]), row, takes) for at, row in enumerate(_rows(columns, completions))]

    if inspect.iscoroutinefunction(call):

        async def scored_later(completions: Sequence[Any], **columns: Any) -> list[Any]:
            return [_score(await call(**question)) for question in questions(completions, columns)]

        return scored_later

    def scored(completions: Sequence[Any], **columns: Any) -> list[Any]:
        return [_score(call(**question)) for question in questions(completions, columns)]

    return scored


def _rows(columns: Mapping[str, Any], completions: Sequence[Any]) -> list[dict[str, Any]]:
    """The columns of each answer."""
    own = {name: values for name, values in columns.items() if isinstance(values, list) and name not in NOT_OF_ROWS}
    whole = {name: values for name, values in own.items() if len(values) == len(completions)}
    return [{name: values[at] for name, values in whole.items()} for at in range(len(completions))]


def _question(answer: str, row: Mapping[str, Any], takes: Sequence[str]) -> dict[str, Any]:
    """What verl asks a function about one answer."""
    given = {
        "data_source": row.get("data_source", row.get("task", "")),
        "solution_str": answer,
        "ground_truth": row.get("gold", row.get("answer")),
        "extra_info": row.get("extra_info", dict(row)),
    }
    return {name: given[name] for name in takes}


def _batch(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function of OpenRLHF's, which is asked about a batch: queries are prompts with their answers."""

    def scored(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[Any]:
        asked = [_text(prompt) for prompt in prompts]
        answers = [_text(completion) for completion in completions]
        labels = list(columns.get("gold") or columns.get("answer") or [None] * len(answers))
        queries = [prompt + answer for prompt, answer in zip(asked, answers, strict=True)]
        result = call(queries=queries, prompts=asked, labels=labels)
        rewards: Any = result["rewards"] if isinstance(result, Mapping) and "rewards" in result else result
        return rewards.tolist() if hasattr(rewards, "tolist") else rewards

    return scored


def _score(result: Any) -> Any:
    """The reward that verl reads: a number, or the entry `score` of a dictionary."""
    return result["score"] if isinstance(result, Mapping) and "score" in result else result


def _text(said: Any) -> str:
    """A text, or that of the messages of a conversation."""
    return said if isinstance(said, str) else "\n".join(text_of(message["content"]) for message in said)
