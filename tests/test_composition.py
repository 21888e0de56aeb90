"""Any two parts in one recipe: the groups that are wanted train, the budget is what was spent, marks are kept."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
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
    lacks_solutions,
    mechanism_of,
    place_of,
    recipe,
    stores,
    train_for_real,
    train_with_dice,
    wanted_groups,
)
from of_methods import make, said

from assay.ask.rehearse import Rehearse
from assay.curate import FirstGroups, MixedGroups, leave_out
from assay.errors import ConfigError, DataError
from assay.known import SLOTS
from assay.memory import Harvest, HoldTagged, KeepLeftovers
from assay.memory.harvest import harvest
from assay.memory.places import Named, keepers, place_for
from assay.part import Curator, Part, Remembering, for_caller, name_of, parts_of
from assay.recipe import Mechanism, check
from assay.types import Row

ASIDE = tuple(f"curate:{name}" for name, kind in sorted(SLOTS["curate"].items()) if "aside" in kind.writes)
OWN = "curate:own-tokens"
MANY = {"num_prompts": 6, "num_steps": 5, "group_size": 8, "oversample": 3}  # more mixed groups than are wanted


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.register(monkeypatch)
    worked.register(monkeypatch)


def undone(first: Curator, then: Curator) -> bool:
    """Whether the second one sets rows aside that come back without what the first one wrote on them."""
    return "rows" in first.writes and "aside" in then.writes


PAIRS_ASIDE = [
    names for names in itertools.permutations(ASIDE, 2) if not undone(make(names[0]), make(names[1]))
]  # in an order in which they may stand


def in_every_order(one: Place, other: Place) -> list[tuple[Place, Place]]:
    return [(one, other), (other, one)] if one[0] == other[0] == "curate" else [(one, other)]


# Alone


@pytest.mark.slow
def test_every_part_is_accepted_with_its_defaults() -> None:
    for place in (*ACTIVE, *OTHERS):
        check(recipe(mechanism_of(place)))


# Pairs


@pytest.mark.deep
@pytest.mark.parametrize("first", ACTIVE, ids=[name for _, name in ACTIVE])
def test_two_parts_that_remember_mark_or_draw_further_compose(first: Place) -> None:
    """Or are refused, with a reason, when the recipe is checked."""
    others = ACTIVE[ACTIVE.index(first) + 1 :]
    for pair in (order for other in others for order in in_every_order(first, other)):
        names = [name for _, name in pair]
        made = recipe(mechanism_of(*pair))
        if any(undone(one, other) for one, other in itertools.combinations(made.mechanism.curate, 2)):
            with pytest.raises(ConfigError, match="sets rows aside for a later step, and they come back without what"):
                check(made)
            continue
        check(made)
        if lacks_solutions(made):
            with pytest.raises(DataError, match="worked solution"):
                train_with_dice(made)
            continue
        try:
            train_with_dice(made)
        except Exception as error:
            raise AssertionError(f"{names} do not compose: {error!r}") from error


LATE: dict[str, tuple[int, str]] = said("LATE")
"""What only rewards can show: parts that refuse what others make of them, in the step in which they see it."""


def refused_late(places: tuple[Place, ...]) -> list[str]:
    """Words with which parts among these may refuse the rewards."""
    named = [LATE[place] for place in map(":".join, places) if place in LATE]
    return [words for fewest, words in named if len(places) >= fewest]


def drawn_pairs(count: int) -> list[tuple[Place, Place]]:
    """Of all pairs with a part that neither remembers nor marks nor draws, by a fixed seed."""
    every = [(one, other) for one in OTHERS for other in (*ACTIVE, *OTHERS) if one[0] != other[0] and one < other]
    places = np.random.default_rng(15).choice(len(every), size=count, replace=False)
    return [every[place] for place in sorted(places.tolist())]


@pytest.mark.thin(40)
@pytest.mark.parametrize("pair", drawn_pairs(200), ids=lambda pair: "+".join(name for _, name in pair))
def test_two_hundred_other_pairs_compose_and_train(pair: tuple[Place, Place]) -> None:
    made, late = recipe(mechanism_of(*pair)), refused_late(pair)
    if "group" in made.mechanism.credit.reads and any("group" in part.writes for part in made.mechanism.curate):
        with pytest.raises(ConfigError, match="count in none"):
            check(made)
        return
    check(made)
    if lacks_solutions(made):
        with pytest.raises(DataError, match="worked solution"):
            train_for_real(made)
        return
    try:
        train_for_real(made)
    except ConfigError as error:  # where the other part takes something away from the reward
        assert any(words in str(error) for words in late), str(error)


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


def require_composed(triple: tuple[Place, ...]) -> None:
    """They train, with every mark, denominator, budget and split as it must be; or are refused before it starts."""
    made = recipe(mechanism_of(*triple))
    try:
        check(made)
    except ConfigError as error:
        assert len(str(error)) > 40, "a reason says what cannot be and what to do"
        return
    scored = {slot for slot, _ in triple} & {"forwards", "reward"}  # an engine that throws dice scores nothing
    try:
        (train_for_real if scored else train_with_dice)(made)
    except DataError as error:
        assert lacks_solutions(made) and "worked solution" in str(error)
    except ConfigError as error:
        assert any(words in str(error) for words in refused_late(triple)), str(error)


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
@pytest.mark.parametrize("names", [(), *((place,) for place in ASIDE), *PAIRS_ASIDE, (OWN,)], ids=str)
def test_six_wanted_groups_train_in_every_step(names: tuple[str, ...]) -> None:
    """Refill draws until there are six mixed ones, whatever waits for the parts that set rows aside."""
    extra = [make(name) for name in names]
    made = recipe(wanted_groups(*extra), **MANY)
    check(made)
    watch = train_with_dice(made)
    for rows in watch.rows:
        assert len(groups_of([row for row in rows if row.batch != "second"])) == 6
    waited = {row.waited for rows in watch.rows for row in rows if row.in_loss} - {""}
    assert len(waited) == sum("aside" in part.writes for part in extra)


@pytest.mark.slow
@pytest.mark.parametrize("names", PAIRS_ASIDE, ids=str)
def test_what_waits_for_one_part_is_not_given_back_by_another(names: tuple[str, str]) -> None:
    """Each keeps groups of its own."""
    made = recipe(wanted_groups(*map(make, names)), **MANY)
    memory = train_with_dice(made).before
    own = {name: set(store) for name, store in memory.stores.items() if name.startswith("left-over")}
    assert set(own) == {name.replace("curate:", "left-over/") for name in names} and all(own.values())
    one, other = own.values()
    assert not one & other, "what waits for one has not come to the other"


def first_two(rows: Sequence[Row]) -> list[Row]:
    out = {i for i, row in enumerate(rows) if row.episode.request.sample >= 2}
    return leave_out(rows, out, denominator=True)


class FirstTwo(Curator):
    """Of each group the first two rows train and count; the others stay in the denominator."""

    does = first_two


@pytest.mark.slow
@pytest.mark.parametrize("name", [place for place in ASIDE if "order" in make(place).writes])
def test_what_was_left_out_is_counted_in_the_step_in_which_its_group_trains(name: str) -> None:
    """Of each group two train, and all are in the denominator: a group that waited comes back with these marks."""
    mechanism = wanted_groups(make(name))
    curate = (MixedGroups(), FirstTwo(), make(name))
    watch = train_with_dice(recipe(dataclasses.replace(mechanism, curate=curate), **MANY))
    back = [row for rows in watch.rows for row in rows if row.waited]
    assert back
    for group in {row.group for row in back}:
        rows = [row for row in back if row.group == group]
        marks = [sum(getattr(row, mark) for row in rows) for mark in ("in_loss", "in_group", "in_denominator")]
        assert marks == [2, 2, MANY["group_size"]]


# Whose stores they are


def _named(kind: type[Part]) -> bool:
    """Whether the part reads a store by the name of its keeper."""
    return bool(stores(kind())) and issubclass(kind, Named)


def of(*parts: Remembering, stage: tuple[Remembering, ...] = ()) -> list[list[str]]:
    return [[keeper.place for keeper in kept] for kept in keepers([parts, stage])]


KEEPS = {
    "remember:admit-posed": "posed",
    "remember:follow": "",
    "remember:harvest": "harvest",
    "remember:hold-tagged": "helpful",
    "remember:keep-examined": "examined",
    "remember:keep-leftovers": "left-over",
    **said("KEEPS"),
}
"""Part -> its store, by the name that checkpoints of earlier versions have; "": it has none."""


class Stranger(Named, Remembering):
    """Keeps a store that no part reads."""

    keeps = "strange"

    name: str = for_caller("strange")
    does = harvest


@pytest.mark.parametrize(("place", "store"), KEEPS.items())
def test_two_parts_have_two_stores_and_stages_share_one(place: str, store: str) -> None:
    second = f"{store}#2" if store else ""
    assert of(make(place), make(place)) == [[store, second], []]
    assert of(make(place), stage=(make(place),)) == [[store], [store]]


def test_a_store_is_that_of_its_kind_and_name() -> None:
    assert of(Harvest(most=4), stage=(Harvest(most=2),)) == [["harvest"], ["harvest"]]
    assert of(HoldTagged(tag="x"), Harvest(name="x")) == [["x", "x#2"], []]
    assert of(Harvest(name="x"), stage=(HoldTagged(tag="x"), Harvest(name="x"))) == [["x"], ["x#2", "x"]]
    assert of(Harvest(name="pass-rates"), HoldTagged(tag="rows")) == [["pass-rates#2", "rows#2"], []]


def test_checkpoints_of_earlier_versions_find_their_stores() -> None:
    everyone = {f"remember:{name}": kind() for name, kind in SLOTS["remember"].items()}
    assert all(isinstance(part, Remembering) for part in everyone.values())
    assert dict(zip(everyone, of(*everyone.values())[0], strict=True)) == KEEPS  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "place",
    [f"{slot}:{name}" for slot, kinds in SLOTS.items() for name, kind in kinds.items() if _named(kind)],
)
def test_a_reader_means_one_part(place: str) -> None:
    reader = type(make(place))
    keeper = stores(reader)[0]
    (mine,) = keepers([(Stranger(name="x"), keeper(name="x"), keeper(), Stranger(name="y"))])  # type: ignore[call-arg]
    assert place_for(reader(name="x"), mine) == "x#2", "the first one of this name is of another kind"
    assert place_for(reader(), mine) == KEEPS[f"remember:{name_of(keeper)}"]
    assert place_for(reader(name="y"), mine) == "", "what another kind of part holds is not read"
    (mine,) = keepers([(keeper(name="x"), Stranger(name="x"))])  # type: ignore[call-arg]
    assert place_for(reader(name="x"), mine) == "x"


def test_a_reader_may_read_two_kinds() -> None:
    (mine,) = keepers([(HoldTagged(tag="y"), Harvest())])
    assert place_for(Rehearse(), mine) == "harvest" and place_for(Rehearse(name="y"), mine) == "y"


def refusal(**slots: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        check(recipe(Mechanism(**slots)))
    return str(caught.value)


@pytest.mark.parametrize("place", [place for place in ACTIVE if stores(make(":".join(place)))], ids=":".join)
def test_a_reader_of_two_stores_is_refused_with_what_to_do(place: Place) -> None:
    alone = mechanism_of(place)
    keeper = next(part for part in alone.remember if type(part) in SLOTS[place[0]][place[1]].reads)
    twice = dataclasses.replace(alone, remember=(*alone.remember, keeper))
    with pytest.raises(ConfigError, match="reads the store of one part") as caught:
        check(recipe(twice))
    readers = {type(part).__name__ for part in parts_of(alone) if type(keeper) in part.reads}
    assert str(caught.value).split()[0] in readers
    assert f"'{KEEPS[place_of(keeper)]}#2'" in str(caught.value) and "Leave one" in str(caught.value)


@pytest.mark.parametrize("names", PAIRS_ASIDE, ids=str)
def test_rows_of_two_parts_in_one_store_are_refused_with_what_to_do(names: tuple[str, str]) -> None:
    parts, (one, other) = tuple(map(make, names)), (name.removeprefix("curate:") for name in names)
    shared = refusal(curate=parts, remember=(KeepLeftovers(),))
    assert f"`curate` has {one} and {other}" in shared and f"of={one}" in shared
    each = (KeepLeftovers(of=one), KeepLeftovers(of=other))
    check(recipe(Mechanism(curate=(FirstGroups(), *parts), remember=each)))


@pytest.mark.parametrize("name", ASIDE)
def test_what_would_be_lost_while_rows_wait_is_refused_with_what_to_do(name: str) -> None:
    behind = refusal(curate=(make(OWN), make(name)), remember=(KeepLeftovers(),))
    aside = name.partition(":")[2]
    assert f"without what own-tokens wrote on them. Put own-tokens behind {aside}" in behind


def extended(slot: str, name: str) -> Mechanism:
    """The choice of six mixed groups, with one part more behind it, and all that this part works on."""
    alone = mechanism_of((slot, name))
    chooses = [part for part in alone.curate if "order" in part.writes and slot == "curate"]
    chosen = wanted_groups(*chooses)
    kept = chosen.remember if chooses else alone.remember
    curate = chosen.curate + tuple(part for part in alone.curate if part not in chosen.curate)
    return dataclasses.replace(alone, expand=(*alone.expand, *chosen.expand), curate=curate, remember=kept)


FEWER = {
    "curate:no-training": "no answer trains",
    "source:examine": "asks all that there is once, however many are wanted",
    "ask:rehearse": "learns from what is held, and nothing is drawn",
    "curate:pairs": "a group whose wrong answers were all cut has no pair",
    "curate:ranked-pairs": "a group whose wrong answers were all cut has no pair",
    "expand:ask-pairs": "comparisons are drawn in groups too, and there may be no two texts to compare",
    "expand:ask-judge": "judgements are drawn in groups too",
    **said("FEWER"),
}
"""Behind the choice of the groups these leave some of them out, or add to them, which is what they are for."""
LATER: dict[str, str] = said("LATER")
"""These do to rows what they say where an earlier stage has kept something, and a run of one stage has none."""


@pytest.mark.slow
@pytest.mark.thin(30)
@pytest.mark.turns(3)
@pytest.mark.parametrize(
    "place",
    [
        place
        for place in ACTIVE
        if not mechanism_of(place).source.posed and ":".join(place) not in {"expand:refill", *FEWER}
    ],
    ids=str,
)
def test_beside_any_part_six_wanted_groups_train(place: Place) -> None:
    made = recipe(extended(*place), **MANY)
    check(made)
    for rows in train_with_dice(made).rows:
        assert len(groups_of([row for row in rows if row.batch != "second"])) == 6


@pytest.mark.parametrize("name", [name for name, kind in SLOTS["curate"].items() if "group" in kind.writes])
def test_a_critic_is_refused_answers_that_count_in_no_group(name: str) -> None:
    """Their returns have no targets, which the update would otherwise find out, in a step where there is one."""
    told = refusal(curate=(make(f"curate:{name}"),), credit=make("credit:gae"))
    assert "count in none" in told and name in told


# What parts say that they do to rows


def deeds(before: Sequence[Row], after: Sequence[Row]) -> set[str]:
    """What a part of `curate` did: it wrote on rows or added new ones, set some aside, or left in the loss some that
    count in no group.
    """
    found = {"group" for row in after if row.in_loss and not row.in_group}
    if any(not row.waited for row in after[len(before) :]):
        found.add("rows")
    for old, new in zip(before, after, strict=False):
        fields = {field.name for field in dataclasses.fields(old)} - {"in_loss", "in_group", "in_denominator", "wait"}
        if any(getattr(old, name) is not getattr(new, name) for name in fields):
            found.add("rows")
        if new.wait is not None and old.wait is None:
            found.add("aside")
    return found


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", SLOTS["curate"])
def test_a_part_does_to_rows_what_it_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone, and behind the choice of six mixed groups: other tests expect of parts what these say of themselves."""
    kind = SLOTS["curate"][name]
    does, found = kind.does, set[str]()

    @functools.wraps(does)
    def watched(rows: Sequence[Row], *others: Any, **values: Any) -> list[Row]:
        made = list(does(rows, *others, **values))
        found.update(deeds(rows, made))
        return made

    monkeypatch.setattr(kind, "does", watched)
    train_with_dice(recipe(mechanism_of(("curate", name))))
    train_with_dice(recipe(extended("curate", name), **MANY))
    assert found == (set() if f"curate:{name}" in LATER else set(kind.writes) & {"rows", "aside", "group"})
