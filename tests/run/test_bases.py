"""Bases: every task has one at the level of a run that names none, and it has room for what it is asked."""

from __future__ import annotations

import dataclasses

import pytest
from altered import altered

from assay.errors import UnknownName, UsageError
from assay.known import RECIPES
from assay.policy import character_tokenizer
from assay.rng import Key
from assay.run.bases import BASES, base, base_for, numbered, untrained
from assay.run.context_fit import longest_solution
from assay.source import Pool, Share
from assay.tasks import ALPHABET, TASKS, task
from assay.tasks.abilities import OwnBase, OwnPolicy, PlayedFrom
from assay.tasks.countdown import COUNTDOWN
from assay.worlds import COMPACT

OWN = [name for name in TASKS if TASKS[name].ability(OwnBase) is not None]
"""Tasks that small models learn from worked solutions."""
CODEC = character_tokenizer(ALPHABET)


@pytest.mark.parametrize("name", OWN)
def test_a_task_has_a_base_at_its_first_level(name: str) -> None:
    asked = Share.parse(name)
    made = base(base_for(Pool((asked,))))
    (read,) = (share for share in made.pool.shares if share.task == name)
    assert set(asked.levels) <= set(read.levels) <= set(TASKS[name].generator.levels)


@pytest.mark.parametrize("name", [name for name in OWN if BASES[name].eye is None])
def test_a_base_has_room_for_the_prompts_and_the_solutions_that_it_reads(name: str) -> None:
    made = base(base_for(Pool((Share.parse(name),))))
    problems = [made.pool.problem(Key("room", i)) for i in range(64)]
    longest = max(len(CODEC.render(problem.prompt)) for problem in problems)
    assert longest + longest_solution(made.pool) <= made.shape.context


@pytest.mark.slow
def test_held_out_problems_of_a_first_level_suffice_for_an_exam() -> None:
    own = {"coq", "metamath", "verilog"}  # what they ask is counted in tests of their own
    for name in (
        set(TASKS) - own - {"coq-steps", "metamath-steps", "verilog-turns", "equation-memory"}
    ):  # and these ask the same
        for split in ("valid", "test"):
            assert len(Pool((Share.parse(name),)).held_out(Key("exam", split), 32, split, least=8)) >= 8, name


def test_tasks_without_a_base_are_for_models_that_read_english_or_for_policies_of_another_kind() -> None:
    """Or stand in the mixture of a base of several tasks, or are played from tasks that do."""
    mixed = {share.task for held in BASES.held.values() for share in held.pool.shares}
    for name in TASKS.keys() - set(OWN) - mixed:
        world = TASKS[name].world
        spoken = world is not None and world.speech is not None and world.speech != COMPACT
        played = TASKS[name].ability(PlayedFrom)
        assert (
            spoken
            or TASKS[name].wordings.unmarked
            or TASKS[name].ability(OwnPolicy) is not None
            or (played is not None and mixed.issuperset(played.tasks))
        ), name


def test_imitation_has_every_role_of_the_worlds_of_a_base() -> None:
    """A task in whose world another role speaks cannot be imitated: no model would write for it."""
    for name, made in BASES.held.items():
        for share in made.pool.shares:
            world = task(share.task).world
            spoken = {seat.role for seat in world.seats if seat.role} if world is not None else set()
            assert spoken <= RECIPES["sft"].roles.keys(), (name, share.task)


def test_games_are_played_from_their_moves() -> None:
    for name in ("game:kuhn", "game:kuhn-opponent", "game:nim-best"):
        assert base_for(Pool((Share.parse(name),))) == "games"


def test_bases_of_one_task_bear_its_name() -> None:
    for name in OWN:
        assert {share.task for share in BASES[name].pool.shares} == {name}


def test_a_base_of_a_task_of_somebody_else_is_another_when_the_task_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a task is being written, its base is made of what it is now."""
    own = dataclasses.replace(COUNTDOWN, name="theirs")
    monkeypatch.setitem(TASKS, "theirs", own)
    before = base_for(Pool((Share("theirs", (3,)),)))
    assert before == "theirs" and BASES["theirs"].pool.shares == (Share("theirs", (3, 4)),)
    known = BASES["theirs"].hash
    assert known == BASES["theirs"].hash
    monkeypatch.setitem(TASKS, "theirs", altered(own, instance=TASKS["sums"].generator.instance))
    assert BASES["theirs"].hash != known


def test_bases_that_were_built_before_are_found() -> None:
    """The digests of version 0.1, under which built models lie in caches and records of runs name them."""
    built = {"countdown": "93e70cb12544436c", "lookup-strict": "9a43dcbf5a57672e", "grids": "5f32a5d1228027aa"}
    assert {name: BASES[name].hash for name in built} == built


def test_a_base_that_somebody_sets_goes_before_that_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    small, before = dataclasses.replace(BASES["countdown"], summary="another"), list(BASES)
    monkeypatch.setitem(BASES, "countdown", small)
    assert base("countdown") is small and base_for(Pool((Share("countdown", (3,)),))) == "countdown"
    assert list(BASES).count("countdown") == 1 and sorted(BASES) == sorted(before) and set(OWN) < set(BASES)


def test_a_name_that_is_no_base_is_none_though_a_task_has_it() -> None:
    assert "words" not in BASES and BASES.get("words") is None and "nonsense" not in BASES
    with pytest.raises(UnknownName, match=r"Did you mean 'countdown'"):
        base("coutdown")


def test_a_base_is_made_with_other_seeds_under_names_of_their_own() -> None:
    plain, third = BASES["countdown"], BASES["countdown@3"]
    assert (third.name, third.seed, third.pool, third.scale) == ("countdown@3", 3, plain.pool, plain.scale)
    assert [numbered("countdown", seed) for seed in (0, 1, 12)] == ["countdown", "countdown@1", "countdown@12"]
    assert len({base(numbered("countdown", seed)).hash for seed in range(4)}) == 4
    first, other = (untrained(made).weights() for made in (plain, third))
    assert any(not first[name].equal(other[name]) for name in first)
    assert not any("@" in name for name in BASES), "no seed is listed"
    assert "judges@2" in BASES and BASES["judges@2"].seed == 2


@pytest.mark.parametrize("name", ["countdown@0", "countdown@03", "countdown@-1", "countdown@x", "@3", "nowhere@3"])
def test_what_is_no_seed_names_no_base(name: str) -> None:
    assert name not in BASES
    with pytest.raises(UnknownName, match="no base named"):
        base(name)


def test_what_has_no_base_is_told_how_it_gets_a_model() -> None:
    with pytest.raises(UsageError, match=r"no base was made for bool, path: .*assay train sft"):
        base_for(Pool((Share("bool", (5,)), Share("path", (3,)))))
    with pytest.raises(UsageError, match=r"no base was made for gym-acre: .*reads English"):
        base_for(Pool((Share("gym:acre"),)))
    with pytest.raises(UsageError, match=r"no base was made for words: .*reads English: smollm2"):
        base_for(Pool((Share("words"),)))
