"""Theorems in Coq, proved tactic by tactic in a session that says which goals are left.

The statements are those of the task `coq`. The session steers alone: what the policy has written is verified as a
whole script afterwards, as answers to `coq` are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.externals import workers_of
from assay.externals.coq import SECONDS
from assay.tasks import coq
from assay.tasks.abilities import OwnBase
from assay.tasks.coq import Formula
from assay.tasks.coq_library import COQ_LIBRARY
from assay.tasks.task import Checker, Solution, Spec, Task, Wordings
from assay.types import Problem, Verdict
from assay.verifiers.proofs.coq import (
    MOST_CHARACTERS,
    MOST_TACTICS,
    Unreadable,
    asked,
    sentences,
    verify,
)
from assay.verifiers.proofs.goals import in_short, tight
from assay.verifiers.unfinished import unfinished
from assay.worlds.enclosed import Enclosed, in_line, refused
from assay.worlds.tools import Scene, ToolError, takes_text, tools

SPEECH = Enclosed(".]")
MOST_CALLS = 100  # of a play
_LONGEST = 160  # characters of goals in a reply
_ERROR = re.compile(r"Error:\s*(.*)", re.DOTALL)


def _prove(scene: Scene, tactics: str) -> str:
    """The goals behind these tactics, which are added to the script if the session accepts them all."""
    script: list[str] = scene.state.get("script", [])
    scene.over = scene.calls >= MOST_CALLS
    try:
        further = sentences(f"{tactics}.", scene.spec.get("preamble", ""))
    except Unreadable as trouble:
        raise ToolError(str(trouble) or trouble.kind) from None
    whole = [*script, *further]
    if len(whole) > MOST_TACTICS or len(" ".join(whole)) > MOST_CHARACTERS:
        raise ToolError("the proof is too long")
    return _told(scene, whole, further)


def _told(scene: Scene, whole: list[str], further: list[str]) -> str:
    """The reply of a session to a script whose end is new."""
    job = asked(scene.spec["statement"], whole, scene.spec.get("preamble", ""))
    (outcome,) = workers_of("coq").map([job])
    if (verdict := unfinished(outcome, "coq")) is not None:
        if verdict.status == "invalid":
            raise RuntimeError(verdict.detail)
        raise ToolError(verdict.detail)
    status, printed = outcome.result["status"], outcome.result["said"]
    match status:
        case "proved":
            scene.state["script"], scene.over = whole, True
            return ""
        case "open":
            scene.state["script"] = whole
            return in_line(in_short(outcome.result["goals"]) or f"Qed fails: {_error(printed)}", _LONGEST)
        case "tactic":
            number = outcome.result["place"] - (len(whole) - len(further))
            raise ToolError(_error(printed) if len(further) == 1 else f"tactic {1 + number}: {_error(printed)}")
        case "assumptions":
            raise ToolError("the proof assumes what is not proved")
        case "time" | "output" | "crash":
            raise ToolError(f"the session ends: {status}")
        case _:
            raise RuntimeError(f"coq: {status} {printed[-200:]}")


def _error(said: str) -> str:
    found = _ERROR.search(said)
    return found[1] if found else said


def script_of(text: str) -> str:
    """The tactics that the session accepted in an answer; a text without calls is a script itself."""
    calls = list(SPEECH.inputs(text))
    return " ".join(f"{tactics.strip()}." for tactics, failed in calls if not failed) if calls else text


# Worked solutions


def parsed(statement: str) -> Formula:
    """The formula of a proposition as the task `coq` writes it."""
    tokens = re.findall(r"->|/\\|\\/|\w+|[()]", statement.partition(", ")[2] or statement)

    def operand() -> Formula:
        if (token := tokens.pop(0)) != "(":
            return token
        inner = expression()
        tokens.pop(0)
        return inner

    def expression() -> Formula:
        left = operand()
        return (tokens.pop(0), left, expression()) if tokens and tokens[0] != ")" else left

    return expression()


_LEVEL = {"->": 99, "\\/": 85, "/\\": 80}


def printed(formula: Formula, most: int = 200) -> str:
    """A formula as Coq prints it, without spaces. All operators bind to the right."""
    if isinstance(formula, str):
        return formula
    level = _LEVEL[formula[0]]
    text = f"{printed(formula[1], level - 1)}{formula[0]}{printed(formula[2], level)}"
    return text if level <= most else f"({text})"


@dataclass(frozen=True)
class _Goal:
    said: Formula
    given: dict[str, Formula] = field(default_factory=dict)


def followed(formula: Formula, tactics: Sequence[str]) -> list[str]:
    """What a session replies to each tactic of a proof of ours, but for the last, which ends it."""
    goals = [_Goal(formula)]
    replies = []
    for tactic in tactics[:-1]:
        name, *words = re.findall(r"\w+", tactic)
        goals = [*_left(goals[0], name, words), *goals[1:]]
        given = ";".join(f"{name}:{printed(one)}" for name, one in sorted(goals[0].given.items()))
        more = f" +{len(goals) - 1}" if goals[1:] else ""
        replies.append(in_line(f"{given}|-{printed(goals[0].said)}{more}", _LONGEST))
    return replies


def _left(goal: _Goal, tactic: str, words: list[str]) -> list[_Goal]:
    """The goals that a tactic of a proof of ours leaves of one."""
    proposition, given = goal.said, goal.given
    match tactic:
        case "intros":  # the propositions, which are not shown
            return [goal]
        case "intro":
            return [_Goal(proposition[2], {**given, words[0]: proposition[1]})]
        case "split":
            return [_Goal(proposition[1], given), _Goal(proposition[2], given)]
        case "left" | "right":
            return [_Goal(proposition[1 if tactic == "left" else 2], given)]
        case "destruct" if len(words) > 1:
            taken, rest = given[words[0]], {name: first for name, first in given.items() if name != words[0]}
            first, second = words[2:]
            if taken[0] == "/\\":
                return [_Goal(proposition, {**rest, first: taken[1], second: taken[2]})]
            return [_Goal(proposition, {**rest, first: taken[1]}), _Goal(proposition, {**rest, second: taken[2]})]
        case "apply":
            premises, used = [], given[words[0]]
            while used != proposition:
                premises.append(_Goal(used[1], given))
                used = used[2]  # type: ignore[assignment]  # an implication, since the proof is right
            return premises
        case _:
            return []


def _solve(spec: Spec) -> Solution:
    steps, replies = _stepwise(spec["statement"], spec["witness"])
    calls = [f"[{step.removesuffix('.')}.]" for step in steps]
    return Solution("".join(f"{call}{reply}" for call, reply in zip(calls, [*replies, ""], strict=True)))


def _stepwise(statement: str, witness: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the calls of a worked solution, the replies to all but the last)."""
    if ":nat" not in statement:
        return list(witness), followed(parsed(statement), witness)
    if len(witness) == 2:  # exists 3. reflexivity.
        number = re.findall(r"\d+", witness[0])[0]
        return list(witness), [f"|-{statement.partition(', ')[2].replace('n', number)}"]
    equation = statement.rpartition(", ")[2]
    number = witness[1].removeprefix("exists ").removesuffix(".")  # (n+6)
    goal = equation.replace("+m", f"+{number}").replace("m", number[1:-1])
    replies = [f"n:nat|-exists m:nat,{equation}", f"n:nat|-{goal}"]
    return [*witness[:2], " ".join(witness[2:])], replies


_PRINTED = (("<=", " <= "), ("=>", ":nat => "), ("-", " - "), ("plus", "Init.Nat.add"))


def _solve_library(spec: Spec) -> Solution:
    """A call that introduces, one for a number that there is to be, and one for all that ends the proof."""
    given, _, body = spec["statement"].removeprefix("forall ").partition(", ")
    names, _, kind = given.partition(":")
    premise, _, goal = body.rpartition(" -> ")
    known = dict.fromkeys(names.split(), kind) | ({"H": shown(premise)} if premise else {})
    above = ";".join(f"{name}:{said}" for name, said in sorted(known.items()))
    first, *rest = spec["witness"]
    written = f"[{first.removesuffix('.')}.]{in_line(f'{above}|-{shown(goal)}', _LONGEST)}"
    if rest[0].startswith("exists "):
        number = rest.pop(0)
        left = goal.rpartition(":nat, ")[2].replace("+k", f"+{number[7:-1]}")
        written += f"[{number}]{in_line(f'{above}|-{shown(left)}', _LONGEST)}"
    return Solution(f"{written}[{' '.join(rest)}]")


def shown(text: str) -> str:
    """A formula of `coq-library` as a session's reply has it."""
    for ours, printed_so in _PRINTED:
        text = text.replace(ours, printed_so)
    return tight(text)


# The task


def _natural(spec: Spec) -> str:
    loaded = "Arith, Lia and List of the standard library, which are imported"
    return (
        f"Prove this theorem in Coq, with {loaded if spec.get('preamble') else 'the standard prelude only'}:\n\n"
        f"Theorem t : {spec['statement']}.\n\nA session "
        "of Coq is open behind `Proof.`. Write tactics in square brackets, each ended by a full stop, like [intros P.] "
        "or [split. exact a.]. The reply follows at once: the first goal that is left with its hypotheses, like "
        "a:P;b:Q|-P/\\Q, and how many goals are behind it; or ! and an error, in which case nothing is done. When no "
        "goal is left, the proof is complete. Other commands, axioms, `admit` and comments are not allowed. A script "
        "that needs no session may stand in \\boxed{...} instead."
    )


def _verified(pairs: Sequence[tuple[Problem, str]], *, strict: bool) -> list[Verdict]:
    claims = [coq.claim_of(problem.spec, _script(problem, text), strict=strict) for problem, text in pairs]
    return [one.verdict for one in verify(claims)]


def _script(problem: Problem, text: str) -> str:
    if any(True for _ in SPEECH.inputs(text)):
        return script_of(text)
    marked = coq.answer_in(problem, text)
    return "" if marked is None else marked


def _verify_all(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return _verified(pairs, strict=False)


def _verify_strictly(pairs: Sequence[tuple[Problem, str]]) -> list[Verdict]:
    return _verified(pairs, strict=True)


def _check(spec: Spec, text: str) -> Verdict:
    return coq.check(spec, script_of(text))


_CHECKER = Checker(check=_check, verify_many=_verify_all, second=_verify_strictly, externals=("coq",), seconds=SECONDS)
_WORLD = tools((takes_text("prove", "tactics"), _prove), speech=SPEECH, explain=refused, apart=True)

COQ_STEPS = Task(
    name="coq-steps",
    domain="proofs",
    summary="Prove a small theorem in Coq, in a session that says what each tactic leaves; levels as those of coq.",
    generator=coq.COQ.generator,
    wordings=Wordings(compact=lambda spec: f"n{coq.COQ.wordings.compact(spec)[1:]}", natural=_natural, solve=_solve),
    checker=_CHECKER,
    abilities=(OwnBase("proofs of propositions in Coq, by steps", levels=(3,), num_steps=90, context=384, hidden=160),),
    world=_WORLD,
)

COQ_LIBRARY_STEPS = Task(
    name="coq-library-steps",
    domain="proofs",
    summary="Prove a theorem of coq-library in a session that says what each tactic leaves; levels as those there.",
    generator=COQ_LIBRARY.generator,
    wordings=Wordings(
        compact=lambda spec: f"l{COQ_LIBRARY.wordings.compact(spec)[1:]}", natural=_natural, solve=_solve_library
    ),
    checker=_CHECKER,
    abilities=(
        OwnBase("proofs in Coq by linear arithmetic, by steps", levels=(1, 2), num_steps=60, context=384, hidden=160),
    ),
    world=_WORLD,
)
