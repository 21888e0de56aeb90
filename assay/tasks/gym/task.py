"""The generators of reasoning-gym as tasks, with our splits and strict scoring; `python -m assay.tasks.gym` lists them.

Each instance has a seed of its own, and its content decides its split, because data sets of the package with
neighbouring seeds share most of their items. An answer must be right in full: there is no part credit and no tolerance,
and an answer inside other text does not count.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import importlib.util
import io
import json
import random
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from assay.errors import ConfigError, DataError, unknown
from assay.tasks.gym.algebra import Unreadable
from assay.tasks.gym.excluded import EXCLUDED
from assay.tasks.gym.rules import RULES, Rule
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings, natural_text
from assay.types import Verdict
from assay.verifiers.answers import find_answer

_REDRAWS = 200
_FINAL = "Put your final answer, and nothing else, inside \\boxed{}."
_UNSOLVED = "Integral("  # how the computer algebra writes an integral that it could not find


def gym_names() -> list[str]:
    """The names of all generators that are tasks, without the prefix `gym:`."""
    return sorted(RULES)


def gym_task(name: str) -> Task:
    """The task `gym:name`. It has natural wording only, and one level, the package's default difficulty."""
    if name in EXCLUDED:
        raise DataError(f"the generator '{name}' of reasoning-gym is left out. {EXCLUDED[name]}")
    if name not in RULES:
        raise unknown("gym generator", name, RULES, "assay list tasks")
    if importlib.util.find_spec("reasoning_gym") is None:
        raise ConfigError("gym tasks need the package reasoning-gym: run `pip install 'assay-rl[gym]'`.")
    rule = RULES[name]
    return Task(
        name=f"gym:{name}",
        domain=rule.domain,
        summary=f"reasoning-gym's {name.replace('_', ' ')}; its only level is the package's default difficulty",
        generator=Generator(
            levels=range(1, 2),
            instance=functools.partial(_instance, name),
            canonical=functools.partial(_canonical, rule),
        ),
        wordings=Wordings(
            compact=_no_compact,
            natural=lambda spec: f"{spec['question'].strip()}\n\n{_FINAL}",
            solve=lambda spec: Solution(answer=spec["answer"]),
        ),
        checker=Checker(check=functools.partial(_check, name)),
    )


class _Letters(tuple[str, ...]):
    """Letters in a fixed order. They replace a set, whose order would depend on the process's hash seed."""

    def __sub__(self, other: set[str]) -> _Letters:
        return _Letters(letter for letter in self if letter not in other)


def _order_letters(dataset: Any) -> None:
    dataset.letters = _Letters(sorted(dataset.letters))


def _order_neighbours(dataset: Any) -> None:
    dataset.word_graphs = {
        length: {word: sorted(neighbours) for word, neighbours in graph.items()}
        for length, graph in dataset.word_graphs.items()
    }


def _order_monomials(dataset: Any) -> None:
    draw = dataset._get_monomials
    dataset._get_monomials = lambda rng: sorted(draw(rng), key=str)


_ORDERED: dict[str, Callable[[Any], None]] = {
    "isomorphic_strings": _order_letters,
    "polynomial_multiplication": _order_monomials,
    "ransom_note": _order_letters,
    "word_ladder": _order_neighbours,
}
_SEEDED_AT_CONSTRUCTION = {"acre", "gsm_symbolic", "list_functions"}


def _construct(name: str, seed: int) -> Any:
    from reasoning_gym.factory import create_dataset

    return create_dataset(name, seed=seed, size=1, **RULES[name].config)


@functools.cache
def _prototype(name: str) -> Any:
    """The generator, constructed once and then copied, because loading word lists and puzzles takes up to a second."""
    dataset = _construct(name, 0)
    _ORDERED.get(name, lambda _: None)(dataset)
    return dataset


@contextlib.contextmanager
def _isolated(seed: int) -> Iterator[None]:
    """Inside, a generator cannot disturb the process or be disturbed by it: some of them draw from the process's random
    state, print, or depend on whether a warning was raised before.
    """
    python, legacy = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)


def _entry(name: str, seed: int) -> Mapping[str, Any]:
    """The package's item for this seed, the same in every process."""
    with _isolated(seed):
        if name in _SEEDED_AT_CONSTRUCTION:
            return _construct(name, seed)[0]
        dataset = copy.copy(_prototype(name))
        dataset.seed = seed
        dataset.config = dataclasses.replace(dataset.config, seed=seed)
        return dataset[0]


def _instance(name: str, generator: np.random.Generator, level: int) -> Spec:
    rule = RULES[name]
    for _ in range(_REDRAWS):
        seed = int(generator.integers(2**31))
        try:
            entry = _entry(name, seed)
        except (RuntimeError, IndexError, ValueError):
            continue  # the package found no item for this seed
        metadata = entry["metadata"]
        answer = str(entry["answer"]) if rule.answer is None else rule.answer(metadata)
        if answer.strip() and _UNSOLVED not in answer and _can_be_marked(answer):
            facts = {key: plain(metadata[key]) for key in rule.facts if key in metadata}
            return {"seed": seed, "question": entry["question"], "answer": answer, "facts": facts}
    raise DataError(f"reasoning-gym's '{name}' gave no usable item for {_REDRAWS} seeds.")


def _can_be_marked(answer: str) -> bool:
    """Whether an answer can stand in `\\boxed{}`. One with an unmatched brace cannot."""
    return find_answer(natural_text(Solution(answer)), "natural") == answer.strip()


def plain(value: Any) -> Any:
    """A value as JSON data: tuples and arrays become lists, keys become
    strings, numpy scalars become Python numbers.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if value is None or type(value) in (bool, int, float, str):
        return value
    return str(value)


def _canonical(rule: Rule, spec: Spec) -> str:
    if rule.identity is None:
        return spec["question"]
    return json.dumps(rule.identity(spec["question"], spec["facts"]), sort_keys=True, ensure_ascii=False)


def _no_compact(spec: Spec) -> str:
    raise DataError("gym tasks have no compact wording: ask for `wording='natural'`.")


def _check(name: str, spec: Spec, answer: str) -> Verdict:
    if len(answer) > 4 * len(spec["answer"]) + 200:
        return Verdict.fail("format", "far longer than a right answer")
    if not answer:
        return Verdict.fail("empty")
    try:
        right = _scored(name, spec, answer) if (check := RULES[name].check) is None else check(answer, spec)
    except Unreadable as error:
        return Verdict.fail("format", str(error))
    return Verdict.ok(answer) if right else Verdict.fail("wrong", answer=answer)


def _scored(name: str, spec: Spec, answer: str) -> bool:
    """Whether the package's scorer gives full marks. It only sees answers that the rule's grammar matches."""
    if re.fullmatch(RULES[name].grammar, answer) is None:
        raise Unreadable("not of the form asked for")
    entry = {"question": spec["question"], "answer": spec["answer"], "metadata": dict(spec["facts"])}
    return _prototype(name).score_answer(answer, entry) == 1.0


def table() -> str:
    """All generators, as the Markdown tables of `docs/reasoning_gym.md`."""
    rows = ["| generator | domain | right answers | remarks |", "|---|---|---|---|"]
    for name, rule in sorted(RULES.items()):
        changes = ", ".join(f"`{key}={value}`" for key, value in rule.config.items())
        remarks = " ".join(part for part in (changes and f"{changes}.", rule.note) if part)
        rows.append(f"| `gym:{name}` | {rule.domain} | {'one' if rule.unique else 'several'} | {remarks} |")
    rows += ["", "| left out | reason |", "|---|---|"]
    rows += [f"| `{name}` | {reason} |" for name, reason in sorted(EXCLUDED.items())]
    return "\n".join(rows) + "\n"
