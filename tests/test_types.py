"""Identity of problems and requests, streams of episodes, and selecting rows of a batch."""

from __future__ import annotations

import dataclasses
import inspect
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import episode, segment

from assay.engine.interface import Generation, Scores, Span
from assay.types import (
    Episode,
    Group,
    Origin,
    Problem,
    Request,
    Reward,
    Row,
    Segment,
    Verdict,
    by_group,
    drawn_in_step,
    first_tokens,
    joined,
)

LIGHT = (Episode, Generation, Group, Request, Reward, Row, Scores, Segment, Span, Verdict)


def problem(text: str = "1+1", **changes: object) -> Problem:
    return Problem(**{"task": "sum", "prompt": text, "spec": {}, "canonical": text, **changes})  # type: ignore[arg-type]


def request(**changes: object) -> Request:
    values = {"problem": problem(), "context": np.array([1, 2], np.int32), "group": "g", "max_new": 4}
    return Request(**{**values, **changes})  # type: ignore[arg-type]


def test_a_problem_is_its_content() -> None:
    assert problem().id == problem(prompt="in other words", level=3, wording="natural", hints=("h",)).id
    assert len({problem().id, problem("2+2").id, problem(task="other").id}) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"draw": 1},
        {"sample": 1},
        {"round": 1},
        {"parent": "x"},
        {"fork": 2},
        {"role": "proposer"},
        {"problem": problem("2+2")},
        {"context": np.array([1, 3], np.int32)},
        {"prefix": (segment([5]),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_request_is_its_place_and_its_tokens(change: dict[str, object]) -> None:
    assert request(**change).id != request().id == request().id


def test_what_is_read_and_what_is_given_are_apart() -> None:
    one = request(context=np.array([1, 2], np.int32), prefix=(segment([3]),))
    other = request(context=np.array([1, 2, 3], np.int32))
    assert one.id != other.id
    assert request(context=np.array([1, 2], np.int64)).id == request().id


def test_reward_of_an_episode() -> None:
    parts = (Reward("a", 1.0), Reward("b", -0.25), Reward("c", 9.0, scope="token", values=np.ones(2)))
    one = dataclasses.replace(episode([1, 0]), rewards=parts)
    assert one.reward == 0.75
    assert dataclasses.replace(one, verdict=Verdict.invalid("bug")).reward is None
    assert dataclasses.replace(one, verdict=None).reward == 0.75
    assert dataclasses.replace(one, rewards=()).reward is None


def test_streams_of_an_episode_run_over_its_segments() -> None:
    one = episode([segment([1, 2]), segment([3], origin=Origin.ENV), segment([0], old=np.array([-2.0], np.float32))])
    assert len(one) == 4 and one.stream("ids").tolist() == [1, 2, 3, 0]
    assert one.stream("origin").tolist() == [0, 0, 2, 0]
    np.testing.assert_array_equal(one.stream("old"), np.array([-1.0, -1.0, np.nan, -2.0], np.float32))
    assert len(episode([]).stream("ids")) == 0


def test_training_context_is_the_nearest_that_was_said() -> None:
    hint, plain, other = (np.array([i], np.int32) for i in range(3))
    one = episode([1])
    assert one.training_context is one.request.context
    guided = dataclasses.replace(one, request=dataclasses.replace(one.request, context=hint, train_context=plain))
    assert guided.training_context is plain
    assert dataclasses.replace(guided, context=other).training_context is other


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 4), max_size=4), st.integers(0, 16))
def test_first_tokens(lengths: list[int], count: int) -> None:
    parts = [segment(range(10 * i, 10 * i + n), node=str(i)) for i, n in enumerate(lengths)]
    every = [token for part in parts for token in part.ids.tolist()]
    found = first_tokens(parts, count)
    assert [token for part in found for token in part.ids.tolist()] == every[:count]
    assert all(len(part) for part in found) and [part.node for part in found] == [str(i) for i in range(len(found))]
    assert all(part.old is not None and len(part.old) == len(part) for part in found)


def test_statistics_of_two_updates() -> None:
    """Amounts spent add up; of measures the later one stands."""
    first = {"update/steps": 2.0, "policy/ratio": 1.0, "a": 1.0}
    assert joined(first, {"update/steps": 1.0, "policy/ratio": 2.0, "update/tokens": 5.0}) == {
        "update/steps": 3.0, "policy/ratio": 2.0, "update/tokens": 5.0, "a": 1.0,
    }  # fmt: skip


def answer(group: str, verdict: Verdict | None = None, reward: float | None = None) -> Episode:
    rewards = () if reward is None else (Reward("outcome", reward),)
    return dataclasses.replace(episode([1]), request=request(group=group), verdict=verdict, rewards=rewards)


def test_groups_stand_in_the_order_of_their_first_members_and_know_the_places_of_all() -> None:
    names = ["b", "a", "b", "c", "a", "b"]
    requests = [request(group=name, sample=i) for i, name in enumerate(names)]
    episodes = [answer(name) for name in names]
    every: tuple[list[Request] | list[Episode] | list[Row], ...] = (requests, episodes, [Row(e) for e in episodes])
    for some in every:
        groups = by_group(some)
        assert [(name, group.name, group.places) for name, group in groups.items()] == [
            ("b", "b", [0, 2, 5]), ("a", "a", [1, 4]), ("c", "c", [3]),
        ]  # fmt: skip
        assert all(group.members == [some[i] for i in group.places] for group in groups.values())
    assert by_group([]) == {}


def test_a_group_tells_right_from_wrong_where_we_judged() -> None:
    """An answer without a verdict, or with an error of ours in its place, is neither right nor wrong."""
    verdicts = [Verdict.ok(), None, Verdict.fail("wrong"), Verdict.invalid("bug"), Verdict.ok()]
    episodes = [
        answer("g", verdict, reward) for verdict, reward in zip(verdicts, (1.0, 0.5, 0, 2.0, None), strict=True)
    ]
    for some in (episodes, [Row(e) for e in episodes]):
        group = by_group(some)["g"]
        assert group.verified == [some[0], some[2], some[4]] and group.right == [True, False, True]
        assert group.rewards == [1.0, 0.5, 0.0, None, None]


@given(st.lists(st.sampled_from("abc")))
def test_groups_divide_what_they_are_made_of(names: list[str]) -> None:
    groups = by_group([answer(name) for name in names])
    assert list(groups) == list(dict.fromkeys(names))
    assert sorted(i for group in groups.values() for i in group.places) == list(range(len(names)))
    assert all(names[i] == name for name, group in groups.items() for i in group.places)


def test_replayed_answers_are_of_other_draws() -> None:
    """Taught ones are of this step's."""

    def of(draw: int, provenance: str) -> Episode:
        one = episode([1])
        request = dataclasses.replace(one.request, draw=draw)
        return dataclasses.replace(one, request=request, provenance=provenance)

    assert drawn_in_step([]) == 0
    assert drawn_in_step([of(2, "fresh"), of(40, "replay")]) == 3
    assert drawn_in_step([of(2, "fresh"), of(5, "teacher")]) == 6
    assert drawn_in_step([of(40, "replay")]) == 41, "a refill that replays alone must go on too"


@pytest.mark.parametrize("kind", LIGHT)
def test_the_constructor_of_a_light_record_does_as_that_of_a_dataclass(kind: type) -> None:
    """Its defaults, a container of its own for each record, what is said of wrong arguments; and it stays frozen."""
    fields, plain = dataclasses.fields(kind), kind.__init__.__wrapped__  # type: ignore[misc]
    assert inspect.signature(kind.__init__) == inspect.signature(plain)
    least = [field.name for field in fields if dataclasses.MISSING is field.default is field.default_factory]
    made, named = kind(*least), kind(**{name: name for name in least})
    expected = object.__new__(kind)
    plain(expected, *least)
    assert vars(made) == vars(named) == vars(expected)
    for name in (field.name for field in fields if field.default_factory is not dataclasses.MISSING):
        assert getattr(made, name) is not getattr(named, name)
    wrong: tuple[tuple[list[str], dict[str, str]], ...] = (
        ([], {}),
        (least, {"unknown": "x"}),
        (least, {least[0]: "x"}),
        (["x"] * (len(fields) + 1), {}),
    )
    for arguments, more in wrong:
        with pytest.raises(TypeError) as ours:
            kind(*arguments, **more)
        with pytest.raises(TypeError) as theirs:
            plain(object.__new__(kind), *arguments, **more)
        assert str(ours.value) == str(theirs.value)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, least[0], "x")
    assert vars(pickle.loads(pickle.dumps(made))) == vars(made)
    assert vars(dataclasses.replace(made, **{least[0]: "x"})) == {**vars(made), least[0]: "x"}
