"""Judging answers to a task, as tasks of their own: `judge:NAME` asks how good an answer is, `compare:NAME` which of
two answers is better. The verifier of NAME knows, so that a model can learn to judge by verifiable rewards.

A judgement is text: a mark for each thing that was checked, then the score, `++-+#3` in compact wording. The checked
things are the rules of the problem, if the task has `rules`, else the steps of the answer, if it has `steps`. The score
is the number of rules that the answer keeps, and for other tasks 1 if the answer is right, else 0.

Such tasks are made on demand and are not listed among the tasks.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import DataError
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings, compact_text, natural_text
from assay.types import Episode, Problem, Verdict
from assay.verifiers.answers import Wording, answer_place, find_answer

if TYPE_CHECKING:
    import numpy as np

JUDGE, COMPARE = "judge:", "compare:"
COMPACT = {JUDGE: "J {question} [{first}]", COMPARE: "C {question} [{first}] [{second}]"}
NATURAL = {
    JUDGE: "A problem was posed:\n{question}\n\nThis answer was given:\n{first}\n\nThe answer ends here. Judge the "
    "answer: write one line with a sign for each {checked}, + if it holds and - if not. Then give {score} in "
    "\\boxed{{...}}, for example \\boxed{{1}}.",
    COMPARE: "A problem was posed:\n{question}\n\nThe first answer:\n{first}\n\nThe second answer:\n{second}\n\nThe "
    "answers end here. Say which of them is better: give 1 or 2 in \\boxed{{...}}, for example \\boxed{{1}}. Before "
    "it, write a line with a sign for each {checked} in the first answer, + if it holds and - if not, a comma, and the "
    "signs for the second.",
}
_MARKS = re.compile(r"[-+]*(?:,[-+]*)?")
_WHOLE = re.compile(r"[0-9]{1,3}")
_TRIES = 60  # changed answers that are tried until one is wrong
_DRAWS = 50  # instances that are tried until the solution of one can be made wrong
_OTHERS = 3  # other instances, whose solutions say which characters answers are made of
_CLASSES = tuple(map(frozenset, (string.digits, string.ascii_lowercase, string.ascii_uppercase)))


@dataclass(frozen=True)
class Judgement:
    """A judgement of an answer, or of two.

    Judgement("++-+", 3)
    """

    marks: str  # '+' or '-' for each thing that was checked; of two answers, with a comma between them
    score: int  # of one answer its score; of two the number of the better one, 0 if they are as good


def read(text: str, wording: Wording) -> Judgement | None:
    """The judgement in a response; None if it gives no score. Marks that cannot be read are ''."""
    answer = find_answer(text, wording)
    if answer is None or not _WHOLE.fullmatch(answer):
        return None
    if wording == "compact":
        lines = [text.rpartition("#")[0]]
    else:
        lines = [line.strip() for line in text[: text.rfind("\\boxed{")].splitlines()]
    marks = [line for line in lines if line and _MARKS.fullmatch(line)]
    return Judgement(marks[-1] if marks else "", int(answer))


def written(episode: Episode) -> Judgement | None:
    """The judgement in an answer of a judge; None if it was cut, or gives no score that the problem knows."""
    problem = episode.request.problem
    found = read(episode.text, problem.wording) if episode.finish == "stop" else None
    return found if found is not None and found.score <= problem.spec["most"] else None


def exact(judged: Task, problem: Problem, text: str, *, right: bool) -> Judgement:
    """The verifier's judgement of an answer. Other judgements are compared to it."""
    if judged.checker.rules is not None:
        kept = judged.checker.rules(problem.spec, find_answer(text, problem.wording) or "")
        return Judgement("".join("+" if one else "-" for one in kept), sum(kept))
    chain = judged.chain(problem, text)
    steps = () if chain is None else chain.steps
    return Judgement("".join("-" if step.verdict == "wrong" else "+" for step in steps), int(right))


def to_judge(of: Task, problem: Problem, text: str, *, right: bool) -> Problem:
    """The problem of judging this answer, as a problem of `judge:NAME`."""
    said = exact(of, problem, text, right=right)
    spec = {
        "spec": dict(problem.spec),
        "answers": {problem.wording: [text]},
        "marks": {problem.wording: said.marks},
        "score": said.score,
        "most": _most(of, problem.spec),
    }
    return _posed(JUDGE, of, problem, spec)


def to_compare(of: Task, problem: Problem, texts: Sequence[str], *, rights: Sequence[bool]) -> Problem:
    """The problem of comparing these two answers, as a problem of `compare:NAME`."""
    said = [exact(of, problem, text, right=right) for text, right in zip(texts, rights, strict=True)]
    spec = {
        "spec": dict(problem.spec),
        "answers": {problem.wording: list(texts)},
        "marks": {problem.wording: _both(said)},
        "score": _better(said),
        "most": 2,
    }
    return _posed(COMPARE, of, problem, spec)


def _both(said: Sequence[Judgement]) -> str:
    return ",".join(one.marks for one in said) if any(one.marks for one in said) else ""


def _better(said: Sequence[Judgement]) -> int:
    first, second = (one.score for one in said)
    return 0 if first == second else 1 if first > second else 2


def _most(of: Task, spec: Spec) -> int:
    rules = of.checker.rules
    return 1 if rules is None else len(rules(spec, ""))


def _posed(kind: str, of: Task, problem: Problem, spec: Spec) -> Problem:
    """`Task.pose` for an answer that somebody wrote to a problem as it was asked."""
    wording = problem.wording
    solution = Solution(str(spec["score"]), spec["marks"][wording])
    return Problem(
        task=kind + of.name,
        prompt=question_about(kind, of, problem, spec["answers"][wording]),
        spec=spec,
        canonical=f"{problem.canonical} {spec['answers'][wording]}",
        level=problem.level,
        domain=problem.domain,
        solution=compact_text(solution) if wording == "compact" else natural_text(solution),
        parents=(problem.id,),
        provenance="judged",
        wording=wording,
    )


def question_about(kind: str, of: Task, problem: Problem, answers: Sequence[str]) -> str:
    """The prompt for a judge of these answers to a problem."""
    return _question(kind, of, asked_text(problem), answers, problem.wording)


def asked_text(problem: Problem) -> str:
    """The question as text, with the roles of its messages."""
    if isinstance(problem.prompt, str):
        return problem.prompt
    return "\n\n".join(f"{message.get('role', '')}: {message.get('content', '')}" for message in problem.prompt)


def _question(kind: str, of: Task, question: str, answers: Sequence[str], wording: Wording) -> str:
    first, second = answers[0], answers[-1]
    if wording == "compact":
        return COMPACT[kind].format(question=question, first=first, second=second)
    by_rules = of.checker.rules is not None
    checked = "rule" if by_rules else "step"
    score = "the number of rules that it keeps" if by_rules else "1 if the answer is right and 0 if not"
    return NATURAL[kind].format(question=question, first=first, second=second, checked=checked, score=score)


def in_other_order(problem: Problem) -> Problem:
    """The comparison of the same two answers in the other order."""
    spec = problem.spec
    turned = {
        **spec,
        "answers": {wording: list(reversed(texts)) for wording, texts in spec["answers"].items()},
        "marks": {wording: ",".join(reversed(marks.split(","))) for wording, marks in spec["marks"].items()},
        "score": (0, 2, 1)[spec["score"]],
    }
    of = inner(problem)
    return judging(of, COMPARE).pose(turned, level=problem.level, wording=problem.wording)


def each_alone(problem: Problem) -> tuple[Problem, Problem]:
    """The two problems of judging each answer of a comparison by itself."""
    of, wording = inner(problem), problem.wording
    asked = of.pose(problem.spec["spec"], level=problem.level, wording=wording)
    first, second = (
        to_judge(of, asked, text, right=of.verify(asked, text).status == "ok")
        for text in problem.spec["answers"][wording]
    )
    return first, second


def inner(problem: Problem) -> Task:
    """The task whose answers are judged."""
    from assay.tasks import task

    return task(problem.task.partition(":")[2])


def judging(of: Task, kind: str) -> Task:
    """The task of judging answers to `of`. Half of the answers are worked solutions; the others are worked solutions
    in which characters were changed until they are wrong. A comparison has one of each, in any order.
    """

    def instance(generator: np.random.Generator, level: int) -> Spec:
        for _ in range(_DRAWS):
            spec = of.generator.instance(generator, level)
            solution = of.wordings.solve(spec)
            texts: dict[Wording, str] = {"compact": compact_text(solution), "natural": natural_text(solution)}
            spoilt = _spoilt(of, spec, level, solution, texts, generator)
            if spoilt is not None:
                pair = (texts, spoilt) if generator.random() < 0.5 else (spoilt, texts)
                return _described(of, kind, spec, level, pair)
        raise DataError(
            f"task '{of.name}': of {_DRAWS} worked solutions none could be made wrong by changing its characters, so "
            "that there are no wrong answers to judge."
        )

    def check(spec: Spec, text: str) -> Verdict:
        if not _WHOLE.fullmatch(text) or int(text) > spec["most"]:
            return Verdict.fail("format", f"expected a whole number up to {spec['most']}")
        return Verdict.ok(text) if int(text) == spec["score"] else Verdict.fail("wrong", answer=text)

    def asked(wording: Wording, question: Callable[[Spec], str]) -> Callable[[Spec], str]:
        return lambda spec: _question(kind, of, question(spec["spec"]), spec["answers"][wording], wording)

    return Task(
        name=kind + of.name,
        domain=of.domain,
        summary=f"Judge answers to {of.name}; the level is that of the problem that was answered.",
        generator=Generator(
            levels=of.generator.levels,
            first=of.generator.first,
            instance=instance,
            canonical=lambda spec: f"{of.generator.canonical(spec['spec'])} {next(iter(spec['answers'].values()))}",
            split=lambda spec: of.split_of(spec["spec"]),  # no judge is examined on problems that it judged before
        ),
        wordings=Wordings(
            compact=asked("compact", of.wordings.compact),
            natural=asked("natural", of.wordings.natural),
            solve=lambda spec: Solution(
                str(spec["score"]), spec["marks"].get("compact", ""), spec["marks"].get("natural", "")
            ),
        ),
        checker=Checker(check=check, externals=of.checker.externals),
    )


def _described(of: Task, kind: str, spec: Spec, level: int, pair: Sequence[Mapping[Wording, str]]) -> Spec:
    """The instance for one answer, which is the first of the pair, or for both."""
    wordings: tuple[Wording, ...] = ("compact", "natural")
    judgements: dict[Wording, list[Judgement]] = {}
    for wording in wordings:
        problem = of.pose(spec, level=level, wording=wording)
        judged = [(answer[wording], of.verify(problem, answer[wording]).status == "ok") for answer in pair]
        judgements[wording] = [exact(of, problem, text, right=right) for text, right in judged]
    alone = kind == JUDGE
    return {
        "spec": dict(spec),
        "answers": {w: [pair[0][w]] if alone else [answer[w] for answer in pair] for w in wordings},
        "marks": {w: judgements[w][0].marks if alone else _both(judgements[w]) for w in wordings},
        "score": judgements["compact"][0].score if alone else _better(judgements["compact"]),
        "most": _most(of, spec) if alone else 2,
    }


def _spoilt(
    of: Task, spec: Spec, level: int, solution: Solution, texts: Mapping[Wording, str], generator: np.random.Generator
) -> dict[Wording, str] | None:
    """The worked solution in both wordings, changed until it is wrong; None if it did not become so. If the task
    has rules, which the answer alone keeps or breaks, the same answer is changed in both.
    """
    others = [of.wordings.solve(of.generator.instance(generator, level)) for _ in range(_OTHERS)]
    if of.checker.rules is not None:
        signs = "".join(other.answer for other in others)
        changed = _wrong(of, spec, level, "compact", solution.answer, signs, generator)
        if changed is None:
            return None
        other = Solution(changed, solution.steps, solution.natural_steps)
        return {"compact": compact_text(other), "natural": natural_text(other)}
    signs = "".join(compact_text(other) for other in others)
    spoilt: dict[Wording, str] = {}
    for wording, text in texts.items():
        changed = _wrong(of, spec, level, wording, text, signs, generator)
        if changed is None:
            return None
        spoilt[wording] = changed
    return spoilt


def _several(known: frozenset[str], seen: str) -> list[str]:
    """The characters of a class that were seen; all of it if that is a single one."""
    found = known & set(seen)
    return sorted(known if len(found) == 1 else found)


def _wrong(
    of: Task, spec: Spec, level: int, wording: Wording, text: str, signs: str, generator: np.random.Generator
) -> str | None:
    """The text with one character changed anywhere, and then more and more of its answer, until it is wrong; None if
    it did not become so. A character becomes another one of its class, which is among `signs` or in the text; every
    fourth change doubles it.
    """
    problem = of.pose(spec, level=level, wording=wording)
    letters, classes = list(text), [_several(kind, text + signs) for kind in _CLASSES]
    anywhere = [i for i, sign in enumerate(text) if any(sign in kind for kind in classes)]
    begin, end = answer_place(text, wording) or (0, len(text))
    places = anywhere
    for attempt in range(_TRIES if places else 0):
        index = places[int(generator.integers(len(places)))]
        choices = [sign for sign in next(kind for kind in classes if text[index] in kind) if sign != text[index]]
        letters[index] = text[index] * 2 if attempt % 4 == 3 else choices[int(generator.integers(len(choices)))]
        if of.verify(problem, "".join(letters)).status == "fail":
            return "".join(letters)
        places = [i for i in anywhere if begin <= i < end] or anywhere
    return None
