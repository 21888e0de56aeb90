"""Writing harder variants of problems, as tasks of their own: `harder:NAME` asks for a problem of NAME with the answer
of the one that is shown, but more to do. Every other instance of NAME is right: whether it has the same answer, and
whether it is harder, shows when a policy answers it.

Such tasks are made on demand and are not listed among the tasks. They are there so that a small model can learn to
write variants, in the place of a large one that reads instructions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.prompt import text_asked, with_text
from assay.tasks.task import (
    EVOLVED,
    Ability,
    Checker,
    Generator,
    Solution,
    Spec,
    Task,
    Wordings,
    compact_text,
    natural_text,
)
from assay.types import Problem, Verdict
from assay.verifiers.answers import Wording, find_answer

HARDER = "harder:"
ASKING: Mapping[Wording, str] = {
    "compact": "{question} ^",
    "natural": "Here is a problem:\n\n{question}\n\nWrite a harder variant of it, which takes more steps of reasoning "
    "and has exactly the same answer. Keep to what the problem shows, and do not give the answer away. Write the new "
    "problem alone.",
}
"""Wording -> the prompt of who writes the variant. The answer does not stand in it."""
_MAX_CHARACTERS = 4096


@dataclass(frozen=True)
class Hardening(Ability):
    """How problems of a task become harder. Both functions are pure, and `read` is total, as a checker is.

    Example:
        hardening = task("mod-chain").ability(Hardening)
        hardening.read("M23 5+3")  # {"p": 23, "start": 5, "steps": [["+", 3]]}
    """

    vary: Callable[[np.random.Generator, Spec], Spec]  # a longer instance, mostly with the same answer
    read: Callable[[str], Spec | None]  # the instance that a question in compact wording asks; None: it asks none


def variant_of(seed: Problem, text: str) -> Problem:
    """The problem that this text asks, to which the answer of the seed is right. Of its solution the answer alone is
    known.
    """
    answer = find_answer(seed.solution or "", seed.wording)
    write = compact_text if seed.wording == "compact" else natural_text
    return dataclasses.replace(
        seed,
        prompt=with_text(seed.prompt, lambda _: text),
        canonical=f"{seed.canonical} as {text}",
        solution=write(Solution(answer)) if answer else None,
        hints=(),
        parents=(seed.id,),
        provenance=EVOLVED,
    )


def harder(of: Task, hardening: Hardening) -> Task:
    """The task of writing harder variants of problems of `of`, in compact wording. Its worked solutions sometimes
    vary a problem wrongly, as `vary` has it: a policy that imitates them errs as often.
    """

    canonical, asking = of.generator.canonical, of.wordings

    def instance(generator: np.random.Generator, level: int) -> Spec:
        seed = of.generator.instance(generator, level)
        return {"seed": seed, "example": hardening.vary(generator, seed)}

    def check(spec: Spec, text: str) -> Verdict:
        problem = hardening.read(text) if len(text) <= _MAX_CHARACTERS else None
        if problem is None or canonical(problem) == canonical(spec["seed"]):
            return Verdict.fail("format", f"no other problem of '{of.name}'")
        return Verdict.ok(text)

    return Task(
        name=HARDER + of.name,
        domain=of.domain,
        summary=f"Write harder variants of problems of {of.name}; the level is that of the problem shown.",
        generator=Generator(
            levels=of.generator.levels,
            instance=instance,
            canonical=lambda spec: f"{canonical(spec['seed'])} harder",
        ),
        wordings=Wordings(
            compact=lambda spec: ASKING["compact"].format(question=asking.compact(spec["seed"])),
            natural=lambda spec: ASKING["natural"].format(question=asking.natural(spec["seed"])),
            solve=lambda spec: Solution(asking.compact(spec["example"])),
        ),
        checker=Checker(check=check, externals=of.checker.externals),
    )


def may_be_asked(of: Task, current: Problem, text: str) -> bool:
    """Whether a text may be asked in the place of the current question: it is another text, and in compact wording, if
    problems of the task can be read, it is one of the training split.
    """
    text = text.strip()
    if not text or text == text_asked(current.prompt).strip():
        return False
    hardening = of.ability(Hardening)
    if hardening is None or current.wording != "compact":
        return True
    spec = hardening.read(text)
    return spec is not None and of.split_of(spec) == "train"
