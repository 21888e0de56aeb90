"""Exams, and who judges them: the verifier wherever there is a reference answer, and the user's reward functions too.

A reward may pay for something else than right answers, and would report its own success. The verifier therefore judges
the same answers beside it, stands first, and decides which checkpoint is best. It decides nothing about training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from assay.ask import Codec, Sampling
from assay.errors import AssayError, ConfigError
from assay.record.turns import lost_to_the_world, told_of_plays
from assay.rng import Key, digest
from assay.run.grader import Grader
from assay.scoring import bank
from assay.scoring.bank import Bank, Rewarded
from assay.scoring.instruction_rates import instruction_rates
from assay.types import Episode, Problem, Request, Verdict
from assay.verifiers.functions.grading import Grading
from assay.view.judged import name_of_rewards, name_of_verifiers, with_judges
from assay.view.plays import PLAYS

if TYPE_CHECKING:
    from assay.engine.interface import Engine

NOBODY = ""  # in place of a judge, where no problem has a reference answer and no reward function is given


@dataclass(frozen=True, eq=False)
class Exam:
    """The answers of an exam, and the counts of right ones by each judge."""

    episodes: Sequence[Episode]  # with the verdicts of the first judge
    judge: str
    bank: Bank  # by the first judge
    others: tuple[tuple[str, Bank], ...] = ()
    graded: Bank | None = None  # by the reward functions, among the judges or not; None: there are none
    digests: Mapping[str, str] = field(default_factory=dict)  # judge -> what it is made of
    silent: str = ""  # why a judge that was asked too is not among them

    @property
    def ungraded(self) -> bool:
        """Whether rows of files were asked, and the reward functions gave no number for any answer."""
        rows = all(episode.request.problem.provenance == "data" for episode in self.episodes)
        return rows and self.graded is not None and not (self.graded.n > 0).any()

    def entry(self, *, step: int, set: str) -> dict[str, Any]:
        """One line of evals.jsonl, with the scores by each judge."""
        return self._told(bank.entry(self.bank, step=step, set=set))

    def examined(self, ks: Sequence[int]) -> dict[str, Any]:
        """The report of `assay eval`, with the scores by each judge."""
        told = self._told(bank.examined(self.bank, ks), ks)
        for row in told.get("judges", ()):
            row.pop("counts", None)
        return told

    def _told(self, record: dict[str, Any], ks: Sequence[int] = ()) -> dict[str, Any]:
        told = with_judges(record, self.judge, self.others, ks=ks, digests=self.digests) if self.judge else record
        told |= {"silent": self.silent} if self.silent else {}
        told |= {"instructions": rates} if (rates := instruction_rates(self.episodes)) else {}
        return told | ({PLAYS: plays} if (plays := told_of_plays(self.episodes)) else {})


def examine(
    engine: Engine,
    problems: Sequence[Problem],
    *,
    grader: Grader,
    samples: int,
    key: Key,
    sampling: Sampling,
    codec: Codec,
    asked: Callable[[list[Request]], list[Request]] = list,
    rewarded: Rewarded = list,
    players: Mapping[str, Engine] | None = None,
) -> Exam:
    """Samples `samples` answers to every problem, and has every judge count the right ones.

    `asked` may change the requests, for example add to their prompts what the recipe adds in training; `rewarded` gives
    answers to open problems the rewards of a recipe; `players` play other seats of worlds.
    """
    requests = asked(bank.questions(problems, samples=samples, sampling=sampling, codec=codec))
    verify = grader.verified if grader.grading is None else grader.grading
    played = bank.answer(engine, requests, key=key, codec=codec, verify=verify, players=players)
    return judged(rewarded(played), grader)


def judged(episodes: Sequence[Episode], grader: Grader) -> Exam:
    """The exam whose answers have the verdicts of the reward functions, or of the verifiers where there are none."""
    _require_plays(episodes)
    problems = {episode.request.problem.id: episode.request.problem for episode in episodes}
    closed = [problem for problem in problems.values() if not problem.open]
    verifier = name_of_verifiers(dict.fromkeys(problem.task for problem in closed)) if closed else NOBODY
    own = bank.bank(episodes)
    if grader.grading is None:
        return Exam(episodes, verifier, own)
    name = name_of_rewards([function.name for function in grader.grading.functions])
    graded = Exam(episodes, name, own, graded=own, digests={name: digest_of(grader.grading)})
    if not closed:
        return graded
    again = verified(episodes, grader)
    first = replace(bank.bank(again), scores=own.scores)
    if not (first.closed().n > 0).any():
        return replace(graded, silent=_silence(verifier, again))
    others = ((name, own),) if (own.n > 0).any() else ()
    return replace(graded, episodes=again, judge=verifier, bank=first, others=others)


def _require_plays(episodes: Sequence[Episode]) -> None:
    """Refuses an exam of which the world lost every answer, and says why: no verifier has failed."""
    lost = [episode for episode in episodes if lost_to_the_world(episode)]
    if lost and len(lost) == len(episodes):
        tasks = sorted({episode.request.problem.task for episode in lost})
        worlds = " and ".join(map(repr, tasks))
        why = Counter(episode.verdict.detail for episode in lost if episode.verdict is not None)
        ((reason, count),) = why.most_common(1)
        raise AssayError(
            f"the world of {worlds} failed in all {len(lost)} answers of an exam, {count} times with {reason}. "
            f"`assay.check_world({tasks[0]!r})` plays it alone."
        )


def verified(episodes: Sequence[Episode], grader: Grader) -> list[Episode]:
    """The same answers with the verdicts of the verifiers; without any for open problems. A verifier that cannot be
    asked here, because a package is missing, gives no verdict: that is no fault of an answer.
    """
    try:
        verdicts = grader.verified(episodes)
    except ConfigError as error:
        lost = Verdict.invalid("no_verifier", str(error))
        verdicts = [None if episode.request.problem.open else lost for episode in episodes]
    pairs = zip(episodes, verdicts, strict=True)
    return [one if one.finish == "error" else replace(one, verdict=verdict) for one, verdict in pairs]


def _silence(verifier: str, episodes: Sequence[Episode]) -> str:
    """The sentence on a verifier that failed on every answer, with the commonest reason."""
    why = Counter(f"{e.verdict.kind}: {e.verdict.detail}" for e in episodes if e.verdict and not e.request.problem.open)
    ((reason, count),) = why.most_common(1)
    return f"the {verifier} failed on all {why.total()} answers with a reference answer, {count} times with {reason}"


def digest_of(grading: Grading) -> str:
    """A digest of what reward functions grade by: their code, their weights, and from where on an answer is right."""
    return digest(*((one.name, one.weight, one.digest) for one in grading.functions), grading.right_from)
