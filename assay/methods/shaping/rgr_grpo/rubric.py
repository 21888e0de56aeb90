"""A rubric that a program checks: the steps of the worked solution, and the final answer."""

from __future__ import annotations

from collections.abc import Sequence

from assay.part import Rewarding
from assay.reward.anchors import Anchors
from assay.reward.rubrics import Criterion, of_vector
from assay.tasks import chain_of, task
from assay.tasks.steps import TAKE_BACK, divided, spans_of
from assay.types import Episode, Problem, Reward

ANSWER = {"compact": "#", "natural": "The final answer is right."}
"""The factual criterion, in words."""


def steps_in(problem: Problem, text: str) -> list[str]:
    """The steps of a response, as they are written."""
    body, _ = divided(text, problem.wording)
    return [body[begin:end] for begin, end in spans_of(body, problem.wording)]


def needed_steps(problem: Problem) -> list[str]:
    """The different steps of a problem's worked solution; if it has none, the steps of the other worked solution that
    has the most. If the task judges steps, only steps that are true and needed count.
    """
    own, *others = [_valid(problem, text) for text in task(problem.task).traces(problem)]
    return own or max(others, key=len, default=[])


def _valid(problem: Problem, text: str) -> list[str]:
    chain, steps = chain_of(problem, text), steps_in(problem, text)
    kept = [True] * len(steps) if chain is None else [step.verdict == "valid" for step in chain.steps]
    return list(dict.fromkeys(s for s, valid in zip(steps, kept, strict=True) if valid and s != TAKE_BACK))


def worked_rubric(problem: Problem) -> list[Criterion]:
    """A criterion of weight 1 for each step, and a factual one for the answer, which weighs as much as all steps."""
    steps = needed_steps(problem)
    return [*map(Criterion, steps), Criterion(ANSWER[problem.wording], float(max(1, len(steps))), factual=True)]


def met_steps(episodes: Sequence[Episode], *, anchors: Anchors) -> list[Reward | None]:
    """s_k = 1 if step k of the rubric stands among the steps of the answer; of the answer 1 if its verdict is ok. An
    answer that was cut meets nothing: else it would be paid for never ending.
    """

    def of(episode: Episode) -> Reward | None:
        problem = episode.request.problem
        rubric, text = worked_rubric(problem), "" if episode.finish == "length" else episode.text
        written = set(steps_in(problem, text))
        scores = [float(one.text in written) for one in rubric[:-1]]
        return of_vector("met-steps", rubric, [*scores, float(episode.right)], anchors)

    return [of(episode) if episode.request.problem.solution else None for episode in episodes]


class MetSteps(Rewarding):
    """The steps of the worked solution are the rubric of a problem, beside its answer (RGR-GRPO 2511.12344, where a
    model writes the rubric and a judge reads). With `facts` a right answer has the whole reward, whatever its steps.
    """

    solutions = "some"

    anchors: Anchors = Anchors(facts=True)  # how the criteria become one number
    does = met_steps
    needs = ("texts",)
    needs_verdict = True
    outcome = True

    def refusal(self, **_: object) -> str | None:
        fault = self.anchors.fault
        return f"met-steps.anchors: {fault}." if fault else None
