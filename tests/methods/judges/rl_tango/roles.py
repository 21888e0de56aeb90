"""Who learns what, by hand; `tests/roled.py` says what it means."""

from roled import ONE_OF_FOUR, Roles, Step, truth

from assay.types import Request

STEPS = "1+1=2 2,1+1=2 2#1"  # of 7 tokens, of 8 with the comma, and 3 to the end


def written(request: Request) -> str:
    """The first answer is right and has no steps; the others have two wrong ones. The verifier's first judgement has
    the right verdict, with wrong marks; the others have a wrong verdict, and the last not one mark for each step.
    """
    if request.role == "policy":
        return truth(request).rpartition("#")[2] if request.sample == 0 else STEPS
    right = request.problem.spec["score"] == 1
    if request.sample == 0:
        return "#1" if right else "++#0"
    if request.sample == 3:
        return "++#0" if right else "#1"
    return "#0" if right else "+-#1"


def answers(alpha: float) -> set:
    """Steps are marked 1 and (1 - 2) / 3, and earn 1/2 and -1/6: 1/3 above and below their mean, over the deviation of
    three of each; from each token on they add up, to 0 and to the second alone.
    """
    second = -(1 / 3) / (6 / 5 * (1 / 3) ** 2) ** 0.5
    outcome = tuple(one * (1 - alpha) for one in ONE_OF_FOUR)
    late = outcome[1] + alpha * second
    stepped = (*[outcome[1]] * 7, *[late] * 8, *[outcome[1]] * 3)
    return {(outcome[0], stepped, stepped, stepped)}


def judgements() -> set:
    """A right verdict earns 1 and a right form 1, whatever the marks say of the steps: 2, 1, 1, 0. One of four answers
    is right: judgements of it weigh 1 / (sqrt p (sqrt p + sqrt(1 - p))), those of the others likewise.
    """
    relative = (1.5**0.5, 0, 0, -(1.5**0.5))
    both = (1 / 4) ** 0.5 + (3 / 4) ** 0.5
    return {tuple(one / (share**0.5 * both) for one in relative) for share in (1 / 4, 3 / 4)}


ANSWERS, JUDGEMENTS = "policy search-stream", "verifier judge:search-stream"


def both(passed: float, *learns: str) -> Step:
    alpha = 0.5 * (0.05 / 0.5) ** passed
    return Step({ANSWERS: answers(alpha), JUDGEMENTS: judgements()}, learns={*learns})


ROLES = {
    "rl-tango": Roles(
        written,
        tasks={"search-stream": 3},
        steps=(
            Step({JUDGEMENTS: judgements()}, still={ANSWERS}, learns={"verifier"}),
            both(0, "policy"),
            both(1 / 3, "policy", "verifier"),  # every third step
            both(2 / 3, "policy"),
        ),
        shares=(1, 3),
    ),
}
