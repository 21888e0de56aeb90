"""Any two parts in one recipe: the groups that are wanted train, the budget is what was spent, marks are kept."""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any

import numpy as np
import pytest
import tiny
import worked
from composed import (
    ACTIVE,
    OTHERS,
    Place,
    groups_of,
    mechanism_of,
    part_of,
    recipe,
    train_for_real,
    train_with_dice,
    wanted_groups,
)
from of_methods import make

from assay.ask.rehearse import Rehearse
from assay.curate import FirstGroups, MixedGroups
from assay.errors import ConfigError, DataError
from assay.known import SLOTS
from assay.memory import Harvest, HoldTagged, KeepLeftovers
from assay.memory.places import keepers, place_for
from assay.part import Remembering
from assay.recipe import Mechanism, check

ASIDE = {"recompose", "take-turns"}
WRITES = {"own-tokens", "backed-up", "label-steps", "pairs", "mismatch", "train-at", "helpful", "recompose"} | {
    "lessons",
    "unsure-tokens",
    "edges",
    "own-verdicts",
    "ranked-pairs",
    "weigh-edits",
    "best-trajectories",
}
# problems without a worked solution, and parts that cannot do without
UNSOLVABLE = {"pose", "pose-seeds", "solve-posed", "answer-posed", "answer-unlike", "admit-posed"}
NEEDS_SOLUTION = {"anchor-search", "on-anchor", "switch-to-expert", "expert-prefix", "expert", "distilled"} | {
    "start-states",
    "demonstrate",
    "partial-solution",
    "cut-anywhere",
    "criticise",
    "guide-answers",
    "taught-experts",
    "taught-refinement",
}  # cannot do without
TURNS, RECOMPOSE, OWN = "curate:take-turns", "curate:recompose", "curate:own-tokens"
MANY = {"num_prompts": 6, "num_steps": 5, "group_size": 8, "oversample": 3}  # more mixed groups than are wanted


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.register(monkeypatch)
    worked.register(monkeypatch)


def in_every_order(one: Place, other: Place) -> list[tuple[Place, Place]]:
    return [(one, other), (other, one)] if one[0] == other[0] == "curate" else [(one, other)]


# Alone


def test_every_part_is_accepted_with_its_defaults() -> None:
    for place in (*ACTIVE, *OTHERS):
        check(recipe(mechanism_of(place)))


# Pairs


@pytest.mark.slow
@pytest.mark.thin(24)
@pytest.mark.parametrize("first", ACTIVE, ids=[name for _, name in ACTIVE])
def test_two_parts_that_remember_mark_or_draw_further_compose(first: Place) -> None:
    """Or are refused, with a reason, when the recipe is checked."""
    others = ACTIVE[ACTIVE.index(first) + 1 :]
    for pair in (order for other in others for order in in_every_order(first, other)):
        names = [name for _, name in pair]
        made = recipe(mechanism_of(*pair))
        stands = [type(part) for part in made.mechanism.curate]
        known = {kind: name for name, kind in SLOTS["curate"].items() if name in WRITES | ASIDE}
        order = [known[kind] for kind in stands if kind in known]
        clash = any(one in WRITES and other in ASIDE for one, other in itertools.combinations(order, 2))
        if clash:
            with pytest.raises(ConfigError, match="sets rows aside for a later step, and they come back without what"):
                check(made)
            continue
        check(made)
        if UNSOLVABLE & set(names) and NEEDS_SOLUTION & set(names):
            with pytest.raises(DataError, match="worked solution"):
                train_with_dice(made)
            continue
        try:
            train_with_dice(made)
        except Exception as error:
            raise AssertionError(f"{names} do not compose: {error!r}") from error


def drawn_pairs(count: int) -> list[tuple[Place, Place]]:
    """Of all pairs with a part that neither remembers nor marks nor draws, by a fixed seed."""
    every = [(one, other) for one in OTHERS for other in (*ACTIVE, *OTHERS) if one[0] != other[0] and one < other]
    places = np.random.default_rng(15).choice(len(every), size=count, replace=False)
    return [every[place] for place in sorted(places.tolist())]


@pytest.mark.thin(40)
@pytest.mark.parametrize("pair", drawn_pairs(200), ids=lambda pair: "+".join(name for _, name in pair))
def test_two_hundred_other_pairs_compose_and_train(pair: tuple[Place, Place]) -> None:
    made, names = recipe(mechanism_of(*pair)), {name for _, name in pair}
    if made.mechanism.credit.targets and any(part.ungroups for part in made.mechanism.curate):
        with pytest.raises(ConfigError, match="count in none"):
            check(made)
        return
    check(made)
    if names & UNSOLVABLE and names & NEEDS_SOLUTION:
        with pytest.raises(DataError, match="worked solution"):
            train_for_real(made)
    elif "mean-normalised" in names:
        try:
            train_for_real(made)
        except ConfigError as error:  # where the other part takes something away from the reward
            assert "needs rewards of 0 or more" in str(error)
    else:
        train_for_real(made)


def drawn_triples(count: int) -> list[tuple[Place, Place, Place]]:
    """Three parts of different slots, or of `curate` in the order in which they are drawn, by a fixed seed."""
    generator, found = np.random.default_rng(21), dict[tuple[Place, Place, Place], None]()
    every = [*ACTIVE, *OTHERS]
    while len(found) < count:
        one, other, third = (every[place] for place in generator.choice(len(every), size=3, replace=False).tolist())
        slots = [slot for slot, _ in (one, other, third) if slot != "curate"]
        if len(set(slots)) == len(slots):
            found[one, other, third] = None
    return list(found)


LATE = {"mean-normalised": "needs rewards of 0 or more", "virtual-best": "must be the highest possible reward"}
"""What only rewards can show: parts that refuse what another part makes of them, in the step in which they see it."""


def require_composed(triple: tuple[Place, ...]) -> None:
    """They train, with every mark, denominator, budget and split as it must be; or are refused before it starts."""
    made, names = recipe(mechanism_of(*triple)), {name for _, name in triple}
    try:
        check(made)
    except ConfigError as error:
        assert len(str(error)) > 40, "a reason says what cannot be and what to do"
        return
    scored = {slot for slot, _ in triple} & {"forwards", "reward"}  # an engine that throws dice scores nothing
    try:
        (train_for_real if scored else train_with_dice)(made)
    except DataError as error:
        assert names & UNSOLVABLE and names & NEEDS_SOLUTION and "worked solution" in str(error)
    except ConfigError as error:
        assert any(word in str(error) for name, word in LATE.items() if name in names), str(error)


@pytest.mark.thin(20)
@pytest.mark.parametrize("triple", drawn_triples(120), ids=lambda triple: "+".join(name for _, name in triple))
def test_three_parts_compose_or_are_refused(triple: tuple[Place, ...]) -> None:
    require_composed(triple)


@pytest.mark.deep
@pytest.mark.parametrize("block", range(40))
def test_four_thousand_triples_compose_or_are_refused(block: int) -> None:
    for triple in drawn_triples(4120)[120 + 100 * block :][:100]:
        require_composed(triple)


# The wanted number of groups


@pytest.mark.slow
@pytest.mark.parametrize("names", [(), (TURNS,), (RECOMPOSE,), (TURNS, RECOMPOSE), (OWN,)], ids=str)
def test_six_wanted_groups_train_in_every_step(names: tuple[str, ...]) -> None:
    """Refill draws until there are six mixed ones, whatever waits for the parts that set rows aside."""
    extra = [make(name) for name in names]
    made = recipe(wanted_groups(*extra), **MANY)
    check(made)
    watch = train_with_dice(made)
    for rows in watch.rows:
        assert len(groups_of([row for row in rows if row.batch != "second"])) == 6
    waited = {row.waited for rows in watch.rows for row in rows if row.in_loss} - {""}
    assert len(waited) == sum(type(part).sets_aside for part in extra)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_what_waits_for_one_part_is_not_given_back_by_another() -> None:
    """Each keeps groups of its own."""
    made = recipe(wanted_groups(make(TURNS), make(RECOMPOSE)), **MANY)
    memory = train_with_dice(made).before
    own = {name: set(store) for name, store in memory.stores.items() if name.startswith("left-over")}
    assert set(own) == {"left-over/take-turns", "left-over/recompose"} and all(own.values())
    assert not own["left-over/take-turns"] & own["left-over/recompose"], "what has not trained was not recomposed"


@pytest.mark.slow
def test_what_was_filtered_is_counted_in_the_step_in_which_its_group_trains() -> None:
    """Of each group two train, and all are in the denominator: a group that waited comes back with these marks."""
    mechanism = wanted_groups(make(TURNS))
    curate = (MixedGroups(), part_of("curate", "filtered"), make(TURNS))
    watch = train_with_dice(recipe(dataclasses.replace(mechanism, curate=curate), **MANY))
    back = [row for rows in watch.rows for row in rows if row.waited]
    assert back
    for name in {row.group for row in back}:
        rows = [row for row in back if row.group == name]
        marks = [sum(getattr(row, mark) for row in rows) for mark in ("in_loss", "in_group", "in_denominator")]
        assert marks == [2, 2, MANY["group_size"]]


# Whose stores they are


def of(*parts: Remembering, stage: tuple[Remembering, ...] = ()) -> list[list[str]]:
    return [[keeper.place for keeper in kept] for kept in keepers([parts, stage])]


def test_two_parts_have_two_stores_and_stages_share_one() -> None:
    two = (make("remember:track-difficulty"), make("remember:track-difficulty"))
    assert of(*two) == [["difficulty", "difficulty#2"], []]
    assert of(make("remember:keep-successes", most=4), stage=(make("remember:keep-successes", most=2),)) == [
        ["successes"],
        ["successes"],
    ]
    assert of(make("remember:hold-solved", name="x"), Harvest(name="x")) == [["x", "x#2"], []]
    assert of(Harvest(name="x"), stage=(make("remember:hold-solved", name="x"), Harvest(name="x"))) == [
        ["x"],
        ["x#2", "x"],
    ]
    assert of(Harvest(name="pass-rates"), HoldTagged(tag="rows")) == [["pass-rates#2", "rows#2"], []]


def test_checkpoints_of_earlier_versions_find_their_stores() -> None:
    keepers_of_all = [kind() for kind in SLOTS["remember"].values() if issubclass(kind, Remembering)]
    assert len(keepers_of_all) == len(SLOTS["remember"])
    found = of(*keepers_of_all)[0]
    assert sorted(found) == sorted(
        [
            *(
                "levels",
                "level-rates",
                "hint-rates",
                "difficulty",
                "temperatures",
                "solved",
                "successes",
                "values",
                "harvest",
            ),
            *("unsolved", "examined", "helpful", "left-over", "posed", "drafts", "", "entropy", "mixed-share"),
            *("heat", "stage-rates", "guidance", "deviation", "classes", "climb"),
            *("batch-size", "curves", "evolved", "past", "preferences"),
        ]
    )


def test_a_reader_means_one_part() -> None:
    (mine,) = keepers([(make("remember:hold-solved", name="x"), Harvest(name="x"), Harvest(), HoldTagged(tag="y"))])
    assert place_for(make("ask:recall", name="x"), mine) == "x" and place_for(Rehearse(name="x"), mine) == "x#2"
    assert place_for(Rehearse(), mine) == "harvest" and place_for(Rehearse(name="y"), mine) == "y"
    assert place_for(make("ask:recall", name="y"), mine) == "", "what another kind of part holds is not read"


def refusal(**slots: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check(recipe(Mechanism(**slots)))
    return str(caught.value)


def test_what_cannot_be_told_apart_is_refused_with_what_to_do() -> None:
    two = refusal(
        curate=(make("curate:filtered-by-difficulty"),),
        remember=(make("remember:track-difficulty"), make("remember:track-difficulty")),
    )
    assert "FilteredByDifficulty reads the store of one part" in two and "'difficulty#2'" in two and "Leave one" in two
    shared = refusal(curate=(make(TURNS), make(RECOMPOSE)), remember=(KeepLeftovers(),))
    assert "`curate` has take-turns and recompose" in shared and "of=take-turns" in shared
    behind = refusal(curate=(make(OWN), make(TURNS)), remember=(KeepLeftovers(),))
    assert re.search("without what OwnTokens wrote on them. Put OwnTokens behind TakeTurns", behind)
    each = (KeepLeftovers(of="take-turns"), KeepLeftovers(of="recompose"))
    check(recipe(Mechanism(curate=(FirstGroups(), make(TURNS), make(RECOMPOSE)), remember=each)))


def extended(slot: str, name: str) -> Mechanism:
    """The choice of six mixed groups, with one part more behind it, and all that this part works on."""
    alone, chosen = mechanism_of((slot, name)), wanted_groups(*([make(TURNS)] if name == "take-turns" else []))
    kept = chosen.remember if name == "take-turns" else alone.remember
    curate = chosen.curate + tuple(part for part in alone.curate if part not in chosen.curate)
    return dataclasses.replace(alone, expand=(*alone.expand, *chosen.expand), curate=curate, remember=kept)


FEWER = {
    "no-training": "no answer trains",
    "examine": "asks all that there is once, however many are wanted",
    "rehearse": "learns from what is held, and nothing is drawn",
    "pairs": "a group whose wrong answers were all cut has no pair",
    "ranked-pairs": "a group whose wrong answers were all cut has no pair",
    "ask-pairs": "comparisons are drawn in groups too, and there may be no two texts to compare",
    "ask-judge": "judgements are drawn in groups too",
    "label-steps": "completions are drawn in groups, which do not train",
    "helpful": "abstractions are drawn in groups, of which those train that helped",
    "hold-tagged": "stands with helpful",
    "wrong-labels": "a group that elects a right answer does not train",
    "mix-past": "groups of earlier steps train beside those that are wanted",
    "own-verdicts": "answers of all groups are asked about, also of those that were left out",
}
"""Behind the choice of the groups these leave some of them out, or add to them, which is what they are for."""


@pytest.mark.slow
@pytest.mark.thin(30)
@pytest.mark.parametrize(
    "place", [place for place in ACTIVE if place[1] not in UNSOLVABLE | {"refill", *FEWER}], ids=str
)
def test_beside_any_part_six_wanted_groups_train(place: Place) -> None:
    made = recipe(extended(*place), **MANY)
    check(made)
    for rows in train_with_dice(made).rows:
        assert len(groups_of([row for row in rows if row.batch != "second"])) == 6


@pytest.mark.parametrize(
    "name",
    [
        "curate:mismatch",
        "curate:weigh-edits",
        "curate:without-advantage",
        "curate:own-verdicts",
        "curate:lessons",
        "curate:switch-to-expert",
    ],
)
def test_a_critic_is_refused_answers_that_count_in_no_group(name: str) -> None:
    """Their returns have no targets, which the update would otherwise find out, in a step where there is one."""
    told = refusal(curate=(make(name),), credit=make("credit:gae"))
    assert "count in none" in told and name.removeprefix("curate:") in told
