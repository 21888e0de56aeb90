"""Parts that ask for more, beside worlds: judges read what was said in a play, and posed problems are solved in one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import judged
import pytest
from judged import NAME, STEPPED, Signs
from posing import AT_ONCE
from talking import Replying, StopsAt
from tiny import TINY, Letters, models_of, policy, recipe_of, register, run

from assay.ask import Sampling, first_requests
from assay.collect import AskJudge, AtEnd, Collector, Worth
from assay.memory import Memory
from assay.part import bind
from assay.rng import Key
from assay.tasks.pose import PREFIX
from assay.types import Episode, Origin, Verdict
from assay.worlds import Act, Play, Reply, Spec, World

SAID = "said by the world"


@dataclass
class Deciding(Replying):
    """A play that says itself who was right: whoever was asked back."""

    replies: int = 0

    def step(self, act: Act) -> Reply:
        reply = super().step(act)
        self.replies += reply.ask is not None
        return reply

    def judge(self) -> Mapping[str, Verdict]:
        said = f"{SAID} {len(self.heard) % 3}"  # by which answers vote, where nobody tells what is right
        return {"policy": Verdict.ok(said) if self.replies else Verdict.fail("wrong", answer=said)}


def deciding(sign: str, *stops: str) -> World:
    """Asks back with this sign behind these texts, twice at most."""

    def start(spec: Spec, key: Key) -> Play:
        return Deciding(spec, lambda spec, text: sign if text.count(sign) < 2 else None, lambda text: False)

    return World(start, speech=StopsAt(stops))


def heard(answer: Episode) -> bool:
    return bool((answer.stream("origin") == Origin.ENV).any())


def test_a_judge_reads_what_was_said_in_a_play_and_nobody_replies_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    judged.register(monkeypatch, dataclasses.replace(STEPPED, world=deciding("+", "b", ",")))
    codec, sampling, memory = Signs(), Sampling(12), Memory(0)
    judge = bind(AskJudge(role="judge", judgements=2), sampling=sampling, codec=codec)
    checked: list[Episode] = []

    def verify(episodes: list[Episode]) -> list[Verdict]:
        checked.extend(episodes)
        return [Verdict.fail("wrong") for _ in episodes]

    collector = Collector(AtEnd(verify), lambda role: Worth(True, ()), (judge,), lambda *_: [], codec)  # type: ignore
    problems = [STEPPED.problem(Key(i), level=2) for i in range(4)]
    asked = first_requests(problems, memory, first=0, samples=6, sampling=sampling, codec=codec)
    engine = policy("fp32", vocab=codec.vocab, context=64, decode=codec.decode)
    models = models_of(engine, roles={"policy": "policy", "judge": "policy"})
    answers = collector.finish(models, asked, memory, None)
    written = {answer.request.id: answer for answer in answers if answer.request.role == "policy"}
    judgements = [answer for answer in answers if answer.request.role == "judge"]
    over = [answer for answer in written.values() if answer.verified]
    assert len(written) == 24 and len(judgements) == 2 * len(over) and {e.right for e in over} == {True, False}
    assert all(answer.right == heard(answer) for answer in over if answer.finish == "stop")
    for judgement in judgements:
        about = written[judgement.request.parent]
        assert judgement.request.problem.task == f"judge:{NAME}" and judgement.request.seat == ""
        assert judgement.request.problem.spec["score"] == int(about.right) and not heard(judgement)
        assert f"[{about.text}]" in codec.decode(judgement.request.context.tolist())
    assert any("+" in codec.decode(judgement.request.context.tolist()) for judgement in judgements)
    assert {answer.request.role for answer in checked} == {"judge"}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", AT_ONCE)
def test_problems_that_were_posed_are_solved_in_the_world_of_their_task(
    monkeypatch: pytest.MonkeyPatch, recipe: str
) -> None:
    register(monkeypatch, dataclasses.replace(TINY, world=deciding("c", "b")))
    small = recipe_of(recipe, max_new=8, num_steps=3, num_prompts=4, group_size=4, warmup_steps=0)
    notes, _ = run(small, policy("fp32", decode=Letters().decode))
    everyone = [episode for step in notes.episodes for episode in step]
    posed = [e for e in everyone if e.request.problem.task.startswith(PREFIX)]
    solved = [e for e in everyone if e.request.problem.task == "tiny"]
    assert posed and solved and not any(map(heard, posed)) and sum(map(heard, solved)) > len(solved) / 8
    assert {e.request.parent for e in solved if e.request.parent} <= {e.request.id for e in posed} | {""}
    for answer in solved:
        assert answer.request.seat == "policy"
        if answer.finish == "stop":
            assert (
                answer.verdict is not None
                and str(answer.verdict.answer).startswith(SAID)
                and answer.right == heard(answer)
            )
    assert {answer.right for answer in solved if answer.finish == "stop"} == {True, False}
