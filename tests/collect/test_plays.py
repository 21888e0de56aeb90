"""Plays: seats, replaced contexts, rewards of turns, faults, forks and limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from talking import StopsAt, replying
from tiny import END, TINY, Letters, batch_of, models_of, policy, recipe_of, register, run

from assay.ask import Sampling, first_requests
from assay.collect import AtEnd, Collector, Worth, played
from assay.collect.plays import Plays
from assay.collect.spoken import earned_by_turn
from assay.credit import pack
from assay.engine.interface import Generation, Span
from assay.engine.spans import scored
from assay.errors import AssayError, ConfigError
from assay.memory import Memory
from assay.models import Models
from assay.rng import Key
from assay.types import Episode, Origin, Request, Row, Segment, Verdict
from assay.worlds import Act, Ask, Line, Play, Reply, Seat, World

CODEC = Letters()
Step = Callable[["Scripted", Act], Reply]


@dataclass
class Scripted:
    """A play that replies by a function, and remembers what it was told."""

    reply: Step
    first: Reply
    acts: list[Act] = field(default_factory=list)
    closed: int = 0

    def open(self) -> Reply:
        return self.first

    def step(self, act: Act) -> Reply:
        self.acts.append(act)
        return self.reply(self, act)

    def judge(self) -> Mapping[str, Verdict]:
        return {}

    def save(self) -> None:
        return None

    def close(self) -> None:
        self.closed += 1


def world(reply: Step, *, first: Reply | None = None, plays: list[Scripted] | None = None, **about: Any) -> World:
    def start(spec: object, key: Key) -> Play:
        play = Scripted(reply, first or Reply(Ask()))
        (plays if plays is not None else []).append(play)
        return play

    return World(start, **about)


class Writer:
    """A sampler that writes these texts, one for each request; `.` is the end token."""

    context, end_ids, has_threads, vocab, prefilled = 99, frozenset({END}), False, 5, 0

    def __init__(self, *texts: str) -> None:
        self.texts, self.read = list(texts), list[str]()

    def keeping(self) -> Any:
        import contextlib

        return contextlib.nullcontext()

    def generate(self, requests: Sequence[Request], key: Key, *, done: Any = None) -> list[Generation]:
        made = []
        for request in requests:
            self.read.append(CODEC.decode([*request.context, *(i for s in request.prefix for i in s.ids)]))
            text = self.texts.pop(0)[: request.max_new]
            ids = np.array([END if letter == "." else 1 + "abcd".index(letter) for letter in text], np.int32)
            logp = np.full(len(ids), -0.5, np.float32)
            finish = "length" if len(ids) == request.max_new and not text.endswith(".") else "stop"
            made.append(Generation(Segment(ids, np.zeros(len(ids), np.int8), logp, logp), finish))
        for place, generation in enumerate(made):
            if done:
                done(place, generation)
        return made


def play(
    monkeypatch: pytest.MonkeyPatch, given: World, *texts: str, roles: Sequence[str] = (), **settings: Any
) -> tuple[list[Episode], Writer]:
    """One play, in which these texts are written."""
    register(monkeypatch, dataclasses.replace(TINY, world=given))
    sampling = Sampling(**{"max_new": 20, **settings})
    problem = TINY.problem(Key(0), level=1)
    asked = first_requests([problem], Memory(0), first=0, samples=1, sampling=sampling, codec=CODEC)
    writer, complete = Writer(*texts), list[Episode]()
    models = Models({"policy": writer}, dict.fromkeys(("policy", *roles), "policy"))  # type: ignore[dict-item]
    with Plays(CODEC, Key(0), models) as plays:
        turns = plays.begin(asked)
        while turns:
            from assay.collect import generate

            made = generate(models, [turn.now for turn in turns], Key(0), CODEC)
            results = [plays.acted(turn, written) for turn, written in zip(turns, made, strict=True)]
            complete += [answer for result in results for answer in result.complete]
            turns = [result.further for result in results if result.further]
    return complete, writer


def words(answer: Episode) -> list[tuple[str, int]]:
    return [(CODEC.decode(s.ids.tolist()), int(s.origin[0])) for s in answer.segments if len(s)]


def letters(ids: np.ndarray) -> str:
    return CODEC.decode(ids.tolist())


def told(text: str, seat: str = "policy", **about: Any) -> Reply:
    return Reply(Ask(seat, say=(Line(text),), **about))


# Seats


def test_each_seat_has_an_answer_in_which_the_words_of_others_are_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(play: Scripted, act: Act) -> Reply:
        if len(play.acts) == 4:
            return Reply(end="ended", rewards={"policy": 1.0, "other": -1.0})
        return told(act.text, "other" if act.seat == "policy" else "policy")

    seats = (Seat(), Seat("other", role="second"))
    answers, writer = play(monkeypatch, world(reply, seats=seats), "a.", "b.", "aa.", "bb.", roles=["second"])
    first, second = answers
    assert words(first) == [("a.", Origin.POLICY), ("b", Origin.ENV), ("aa.", Origin.POLICY)]
    assert words(second) == [("b.", Origin.POLICY), ("aa", Origin.ENV), ("bb.", Origin.POLICY)]
    assert (first.request.role, second.request.role) == ("policy", "second")
    assert second.group == f"{first.group}/other" and first.request.id != second.request.id
    assert letters(second.request.context) == "ac" and writer.read[-1] == "acb.aa"
    assert [r.value for answer in answers for r in earned_by_turn(answer)] == [1.0, -1.0]
    assert {answer.finish for answer in answers} == {"stop"}


def test_a_seat_that_does_not_train_gives_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(play: Scripted, act: Act) -> Reply:
        return Reply(end="ended") if act.seat == "policy" else told(act.text)

    seats = (Seat(), Seat("user", role="user", trains=False))
    given = world(reply, first=told("c", "user"), seats=seats)
    (answer,), writer = play(monkeypatch, given, "bb.", "a.", roles=["user"])
    assert words(answer) == [("bb", Origin.ENV), ("a.", Origin.POLICY)]
    assert writer.read[0] == "cc" and writer.read[1].endswith("cbb")


def test_a_seat_that_nobody_speaks_for_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    seats = (Seat(), Seat("user", role="customer", trains=False))
    given = world(lambda play, act: told(act.text, "user"), seats=seats)
    with pytest.raises(ConfigError, match="asks its seat 'user', for which the role 'customer' speaks, and here only"):
        play(monkeypatch, given, "a.")


# Contexts


def replacing(play: Scripted, act: Act) -> Reply:
    """Each turn reads the letters of all turns before it, and nothing else."""
    if len(play.acts) == 3:
        return Reply(end="ended")
    return told("".join(act.text for act in play.acts) + "c", context="replace")


def test_a_replaced_context_is_a_path_and_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    (answer,), writer = play(monkeypatch, world(replacing), "a.", "bb.", "d.")
    start = letters(answer.request.context)
    assert writer.read == [start, "acc", "abbcc"]
    assert [letters(path.context) for path in answer.paths()] == writer.read
    batch = pack([Row(answer, advantage=np.arange(7.0))])
    ends = zip(batch.context_at, batch.context_at[1:], strict=False)
    assert [letters(batch.context[low:high]) for low, high in ends] == writer.read
    assert np.diff(batch.at).tolist() == [2, 3, 2] and batch.advantage.tolist() == list(range(7))
    assert set(batch.request) == {answer.request.id} and len(batch) == 3 and batch.mask.all()


def test_what_is_trained_under_what_was_read_is_as_likely_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """`old` of every turn is the learner's log-prob in the context of its path."""
    register(monkeypatch, dataclasses.replace(TINY, world=world(replacing)))
    engine, sampling = policy("fp32", decode=CODEC.decode), Sampling(max_new=9)
    problem = TINY.problem(Key(0), level=1)
    asked = first_requests([problem], Memory(0), first=0, samples=30, sampling=sampling, codec=CODEC)
    answers = played(models_of(engine), asked, Key(1), CODEC)
    assert max(len(answer.paths()) for answer in answers) == 3
    for answer, scores in zip(answers, scored(engine, answers, sampled=True), strict=True):
        np.testing.assert_allclose(scores.logp, answer.stream("old"), atol=1e-5)
        for path in answer.paths():
            (alone,) = engine.score([Span(path.context, answer.stream("ids")[path.start : path.stop])])
            np.testing.assert_allclose(alone.logp, answer.stream("old")[path.start : path.stop], atol=1e-5)


def test_a_recipe_learns_from_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, dataclasses.replace(TINY, world=world(replacing)))
    recipe = recipe_of("grpo", max_new=9, num_prompts=4, group_size=8, num_steps=2, warmup_steps=0, num_minibatches=2)
    notes, memory = run(recipe, policy("fp32", decode=CODEC.decode))
    for rows in notes.rows:
        batch = batch_of(recipe, rows)
        assert len(batch) == sum(len(row.episode.paths()) for row in rows if row.in_loss or row.in_denominator)
    assert memory.budget.generated_tokens == sum(len(e) for step in notes.episodes for e in step)


# Rewards


def test_the_reward_of_a_turn_stands_at_its_last_token_and_reaches_credit(monkeypatch: pytest.MonkeyPatch) -> None:
    def paid(play: Scripted, act: Act) -> Reply:
        reply = told("dd") if len(play.acts) < 3 else Reply(end="ended")
        return dataclasses.replace(reply, rewards={"policy": float(len(play.acts))})

    (answer,), _ = play(monkeypatch, world(paid), "ab.", "a.", "b.")
    (reward,) = earned_by_turn(answer)
    assert reward.scope == "turn" and reward.value == 6.0 and reward.at is not None and reward.values is not None
    assert reward.at.tolist() == [2, 6, 10] and reward.values.tolist() == [1, 2, 3]
    row = Row.of(dataclasses.replace(answer, rewards=(reward,)))
    assert row.process is not None and row.process.tolist() == [0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]


def test_a_step_values_its_answers_by_what_the_turns_earned(monkeypatch: pytest.MonkeyPatch) -> None:
    def reply(play: Scripted, act: Act) -> Reply:
        return Reply(end="ended", rewards={"policy": float(act.text.count("a"))})

    register(monkeypatch, dataclasses.replace(TINY, world=world(reply)))
    notes, _ = run(recipe_of("grpo", max_new=5, num_prompts=2, group_size=8, num_steps=1), policy("fp32"))
    for row in notes.rows[0]:
        if row.episode.finish == "stop":
            assert sum(r.value for r in row.episode.rewards if r.name == "turns") == row.episode.text.count("a")


# Faults


def faulty(times: int) -> tuple[World, list[Scripted]]:
    plays: list[Scripted] = []

    def reply(play: Scripted, act: Act) -> Reply:
        if act.text == "b" and len(plays) <= times:
            raise OSError("the tool is gone")
        return Reply(end="ended") if act.text != "a" else told("c")

    return world(reply, plays=plays), plays


def test_a_fault_of_ours_is_tried_again_in_a_play_at_the_same_state(monkeypatch: pytest.MonkeyPatch) -> None:
    given, plays = faulty(1)
    (answer,), _ = play(monkeypatch, given, "a.", "b.")
    assert answer.finish == "stop" and answer.verdict is None
    assert [act.text for act in plays[1].acts] == ["a", "b"] and all(play.closed for play in plays)


def test_a_fault_that_stays_is_invalid_and_no_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    given, plays = faulty(9)
    (answer,), _ = play(monkeypatch, given, "a.", "b.")
    assert answer.finish == "error" and answer.verdict == Verdict.invalid("world", "OSError: the tool is gone")
    assert len(plays) == 2 and Row.of(answer).in_loss is False and all(play.closed for play in plays)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_reward_that_is_no_number_is_a_fault(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    given = world(lambda play, act: Reply(end="ended", rewards={"policy": value}))
    (answer,), _ = play(monkeypatch, given, "a.")
    assert answer.verdict is not None and answer.verdict.status == "invalid" and "reward" in answer.verdict.detail


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (Reply(end="ended", rewards={"nobody": 1.0}), "it rewards the seat 'nobody', which has not acted"),
        (Reply(Ask("nobody")), "it asks the seat 'nobody', and has policy"),
    ],
)
def test_a_seat_that_there_is_not_is_a_fault(monkeypatch: pytest.MonkeyPatch, given: Reply, told: str) -> None:
    (answer,), _ = play(monkeypatch, world(lambda play, act: given), "a.")
    assert answer.verdict == Verdict.invalid("world", told)


@pytest.mark.parametrize("verdicts", [None, {"policy": True}, [Verdict.ok("a")]])
def test_what_is_no_verdict_is_a_fault(monkeypatch: pytest.MonkeyPatch, verdicts: object) -> None:
    monkeypatch.setattr(Scripted, "judge", lambda self: verdicts)
    (answer,), _ = play(monkeypatch, world(lambda play, act: Reply(end="ended")), "a.")
    assert answer.verdict is not None and (answer.verdict.status, answer.verdict.kind) == ("invalid", "world")
    assert "in place of verdicts by seat" in answer.verdict.detail


def test_a_judge_that_fails_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def judge(self: Scripted) -> Mapping[str, Verdict]:
        raise KeyError("who")

    monkeypatch.setattr(Scripted, "judge", judge)
    (answer,), _ = play(monkeypatch, world(lambda play, act: Reply(end="ended")), "a.")
    assert answer.verdict == Verdict.invalid("world", "KeyError: 'who'")


class Opening(Scripted):
    """A play that is opened in vain, the first so many times."""

    left = 0

    def open(self) -> Reply:
        if Opening.left > 0:
            Opening.left -= 1
            raise ConnectionError("nobody listens")
        return super().open()


@pytest.mark.parametrize(("times", "invalid"), [(0, 0), (1, 0), (2, 1), (4, 2), (99, 3)])
def test_a_play_that_cannot_begin_is_tried_again_and_is_invalid_then(
    monkeypatch: pytest.MonkeyPatch, times: int, invalid: int
) -> None:
    made: list[Scripted] = []

    def start(spec: object, key: Key) -> Play:
        made.append(Opening(lambda play, act: Reply(end="ended"), Reply(Ask())))
        return made[-1]

    register(monkeypatch, dataclasses.replace(TINY, world=World(start)))
    monkeypatch.setattr(Opening, "left", times)
    problem, writer = TINY.problem(Key(0), level=1), Writer("a.", "b.", "d.")
    asked = first_requests([problem], Memory(0), first=0, samples=3, sampling=Sampling(9), codec=CODEC)
    models = Models({"policy": writer}, {"policy": "policy"})  # type: ignore[dict-item]
    answers = played(models, asked, Key(0), CODEC)
    told_why = Verdict.invalid("world", "ConnectionError: nobody listens")
    assert [answer.verdict for answer in answers] == [told_why] * invalid + [None] * (3 - invalid)
    assert [answer.finish for answer in answers] == ["error"] * invalid + ["stop"] * (3 - invalid)
    assert [len(answer) for answer in answers] == [0] * invalid + [2] * (3 - invalid) and len(writer.texts) == invalid
    assert all(play.closed for play in made) and len(made) == min(6, 3 + times - invalid)


def test_an_answer_that_is_asked_for_ahead_in_a_play_that_cannot_begin_stays_invalid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where the play could begin when its answer is looked at."""
    left = [2]

    def start(spec: object, key: Key) -> Play:
        left[0] -= 1
        return Scripted(lambda play, act: Reply(end="ended"), Reply(fault="no seat") if left[0] >= 0 else Reply(Ask()))

    register(monkeypatch, dataclasses.replace(TINY, world=World(start)))
    memory = Memory(0)
    collector = Collector(AtEnd(lambda episodes: []), lambda role: Worth(False, ()), (), lambda *_: [], CODEC)
    problem = TINY.problem(Key(0), level=1)
    asked = first_requests([problem], memory, first=0, samples=3, sampling=Sampling(9), codec=CODEC)
    models = models_of(policy("native", decode=CODEC.decode))
    first, *others = collector.finish(models, asked, memory, list(collector.send(models, asked, memory)))
    assert first.finish == "error" and first.verdict == Verdict.invalid("world", "no seat") and len(first) == 0
    assert {answer.finish for answer in others} <= {"stop", "length"} and min(map(len, others)) > 0


# Limits


def test_replies_count_towards_the_limit_unless_they_have_one_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = world(lambda play, act: told("cccc") if len(play.acts) < 3 else Reply(end="ended"))
    (shared,), _ = play(monkeypatch, talk, "a.", "a.", "a.", max_new=8)
    assert shared.finish == "length" and [text for text, _ in words(shared)] == ["a.", "cccc", "a."]
    (apart,), _ = play(monkeypatch, talk, "a.", "a.", "a.", max_new=8, max_replies=8)
    assert apart.finish == "stop" and [text for text, _ in words(apart)] == ["a.", "cccc", "a.", "cccc", "a."]
    (full,), _ = play(monkeypatch, talk, "a.", "a.", "a.", max_new=8, max_replies=7)
    assert full.finish == "length" and len(words(full)) == 3


def test_a_reply_that_is_too_long_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.collect.plays.CUT", "d")
    talk = world(lambda play, act: told("cccccc") if len(play.acts) < 2 else Reply(end="ended"))
    (answer,), _ = play(monkeypatch, talk, "a.", "a.", longest_reply=3)
    assert [text for text, _ in words(answer)] == ["a.", "ccd", "a."]


def test_a_turn_may_have_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    plays: list[Scripted] = []
    talk = world(lambda play, act: Reply(end="ended"), first=Reply(Ask(most=2)), plays=plays)
    (answer,), _ = play(monkeypatch, talk, "aaaa")
    assert plays[0].acts == [Act("policy", "aa", (), "length")] and answer.finish == "stop" and len(answer) == 2


def test_a_limit_of_the_world_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    (answer,), _ = play(monkeypatch, world(lambda play, act: Reply(end="limit")), "a.")
    assert answer.finish == "length"


# Forks


def test_a_beginning_that_the_world_would_not_have_replied_to_so_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, dataclasses.replace(TINY, world=replying(lambda spec, text: "c", "b")))
    problem = TINY.problem(Key(0), level=1)
    (asked,) = first_requests([problem], Memory(0), first=0, samples=1, sampling=Sampling(9), codec=CODEC)
    wrote = Segment(CODEC.encode("ab"), np.zeros(2, np.int8))
    heard = Segment(CODEC.encode("d"), np.full(1, Origin.ENV, np.int8))
    with (
        Plays(CODEC, Key(0), models_of(policy())) as plays,
        pytest.raises(AssayError, match="reply 'd' behind 'ab', and the world replies 'c'"),
    ):
        plays.begin([dataclasses.replace(asked, prefix=(wrote, heard))])
    right = dataclasses.replace(heard, ids=CODEC.encode("c"))
    with Plays(CODEC, Key(0), models_of(policy())) as plays:
        (turn,) = plays.begin([dataclasses.replace(asked, prefix=(wrote, right))])
        assert turn.now.prefix == (wrote, right)


def test_worlds_are_closed_when_a_collection_breaks_off(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Scripted] = []
    register(monkeypatch, dataclasses.replace(TINY, world=world(lambda play, act: told("c"), plays=made)))
    problem = TINY.problem(Key(0), level=1)
    asked = first_requests([problem], Memory(0), first=0, samples=3, sampling=Sampling(9), codec=CODEC)
    with pytest.raises(IndexError):
        played(Models({"policy": Writer("a.")}, {"policy": "policy"}), asked, Key(0), CODEC)  # type: ignore[dict-item]
    assert len(made) == 3 and all(play.closed for play in made)


def test_a_mark_that_only_the_world_may_write_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []

    class Noting(Writer):
        def generate(self, requests: Sequence[Request], key: Key, *, done: Any = None) -> list[Generation]:
            asked.extend(request.barred for request in requests)
            return super().generate(requests, key, done=done)

    speech = dataclasses.replace(StopsAt(("b",)), markers=("d", "ad"))
    talk = world(lambda play, act: told("c") if len(play.acts) < 2 else Reply(end="ended"), speech=speech)
    monkeypatch.setitem(globals(), "Writer", Noting)
    play(monkeypatch, talk, "ab", "a.")
    assert asked == [(CODEC.encode("d")[0],)] * 2
