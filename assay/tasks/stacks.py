"""Stack permutation: bring letters into another order by one stack, with pushes and pops."""

from __future__ import annotations

import numpy as np

from assay.tasks.abilities import OwnBase
from assay.tasks.task import Checker, Generator, Solution, Spec, Task, Wordings
from assay.types import Verdict

PUSH, POP = "+", "-"
_NAMES = "abcdefghijklmnop"
_MOST_CHARACTERS = 200


def _instance(generator: np.random.Generator, level: int) -> Spec:
    """Random pushes and pops of random letters, so that the order can be reached."""
    draws = generator.random(len(_NAMES) + 2 * level).tolist()
    names = sorted(_NAMES, key=lambda name: draws[_NAMES.index(name)])[:level]
    stack: list[str] = []
    wanted, left = "", list(names)
    for draw in draws[len(_NAMES) :]:
        if left and (not stack or draw < 0.5):
            stack.append(left.pop(0))
        else:
            wanted += stack.pop()
    return {"given": "".join(names), "wanted": wanted}


def _solve(spec: Spec) -> Solution:
    """Pops whenever the top of the stack is the next letter that is wanted; the steps are the stack after each push."""
    moves, stack, place, steps = "", "", 0, []
    for letter in spec["given"]:
        stack += letter
        moves += PUSH
        steps.append(stack)
        while stack and stack[-1] == spec["wanted"][place]:
            stack, place, moves = stack[:-1], place + 1, moves + POP
            if place == len(spec["wanted"]):
                break
    lines = "\n".join(f"After push {number} the stack is {one}." for number, one in enumerate(steps, 1))
    return Solution(moves, ",".join(steps), lines)


def _natural(spec: Spec) -> str:
    return (
        f"The letters {', '.join(spec['given'])} arrive in this order. Each is pushed onto a stack when it arrives; at "
        f"any time the letter on top can be popped and is put behind those popped before. Bring the letters into the "
        f"order {', '.join(spec['wanted'])}. Give all moves in their order, + for a push and - for a pop, in "
        "\\boxed{...}, for example \\boxed{+-++--}."
    )


def _check(spec: Spec, text: str) -> Verdict:
    if len(text) > _MOST_CHARACTERS:
        return Verdict.fail("format", f"longer than {_MOST_CHARACTERS} characters")
    moves = text.replace(" ", "").replace(",", "")
    if not moves or not {PUSH, POP}.issuperset(moves):
        return Verdict.fail("format", "expected moves + and -")
    stack, out, left = "", "", spec["given"]
    for number, move in enumerate(moves, 1):
        if (move == PUSH and not left) or (move == POP and not stack):
            return Verdict.fail("wrong", f"move {number} finds nothing to {'push' if move == PUSH else 'pop'}", moves)
        if move == PUSH:
            stack, left = stack + left[0], left[1:]
        else:
            out, stack = out + stack[-1], stack[:-1]
    return Verdict.ok(moves) if out == spec["wanted"] else Verdict.fail("wrong", f"gives the order {out}", moves)


STACK = Task(
    name="stack",
    domain="puzzles",
    summary="Bring letters into another order by pushes and pops of one stack; the level is the number of letters.",
    generator=Generator(
        levels=range(4, 10), instance=_instance, canonical=lambda spec: f"{spec['given']}>{spec['wanted']}"
    ),
    wordings=Wordings(compact=lambda spec: f"s {spec['given']}>{spec['wanted']}", natural=_natural, solve=_solve),
    checker=Checker(check=_check),
    abilities=(OwnBase("four letters through a stack", levels=(4,), num_steps=170),),
)
