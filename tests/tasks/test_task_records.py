"""What a task is made of: its records, what they default to, and abilities, of which a package may have its own."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import pytest

from assay.errors import ConfigError
from assay.tasks import TASKS, able, posing_of, task
from assay.tasks.abilities import Concepts, OtherLevels, OwnBase, Rewording, concepts_of
from assay.tasks.countdown import COUNTDOWN
from assay.tasks.harder import Hardening
from assay.tasks.pose import Posing
from assay.tasks.task import Ability, Solution


@dataclass(frozen=True)
class Timed(Ability):
    """An ability that a package of somebody else knows of."""

    seconds: float


def test_a_task_is_a_small_record() -> None:
    """Who adds a field to it adds one that every reader of a task meets. An ability is met by those who ask for it."""
    records = {"generator", "wordings", "checker", "abilities"}
    names = {field.name for field in dataclasses.fields(COUNTDOWN)}
    assert names - {"name", "domain", "summary"} - records <= {"world"}


def test_an_ability_is_found_by_its_kind_and_a_package_may_have_its_own() -> None:
    assert COUNTDOWN.ability(Posing) is None and COUNTDOWN.ability(Timed) is None
    timed = dataclasses.replace(COUNTDOWN, abilities=(*COUNTDOWN.abilities, Timed(2.0)))
    assert timed.ability(Timed) == Timed(2.0) and timed.ability(Rewording) is COUNTDOWN.ability(Rewording)


def test_an_ability_that_a_task_has_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="'countdown' has Timed twice: expected at most one"):
        dataclasses.replace(COUNTDOWN, abilities=(Timed(1.0), Timed(2.0)))


@pytest.mark.parametrize("kind", [Posing, Hardening, Rewording, OtherLevels, Concepts, OwnBase])
def test_every_kind_is_an_ability_of_some_task_and_not_of_all(kind: type[Ability]) -> None:
    names = able(kind).split(", ")
    assert set(names) < set(TASKS)
    assert all((TASKS[name].ability(kind) is not None) == (name in names) for name in TASKS)


def test_what_cannot_be_posed_or_made_harder_names_what_can() -> None:
    with pytest.raises(ConfigError, match="problems of 'countdown' cannot be posed by a policy; problems of dsl-abd"):
        task("pose:countdown")
    with pytest.raises(ConfigError, match="problems of 'bool' become harder; of mod-chain, mod-chain-7 they can"):
        task("harder:bool")
    assert posing_of(task("dsl-deduction")).shown == 3


def test_a_run_that_names_no_level_takes_the_first_or_the_easiest() -> None:
    assert dataclasses.replace(COUNTDOWN.generator, first=None).first_level == 3
    assert dataclasses.replace(COUNTDOWN.generator, first=5).first_level == 5


def test_wordings_write_and_read_an_answer() -> None:
    marked, bare, solution = COUNTDOWN.wordings, task("sums").wordings, Solution("12", "3+9=12")
    assert marked.written(solution, "compact") == bare.written(solution, "compact") == "3+9=12#12"
    assert (
        marked.written(solution, "natural") == "3+9=12\nAnswer: \\boxed{12}"
        and bare.written(solution, "natural") == "12"
    )
    assert marked.answer_in("it is 12", "natural") is None and bare.answer_in(" it is 12 ", "natural") == "it is 12"
    assert marked.answer_in("\\boxed{12}", "natural") == "12"


def test_a_problem_needs_the_concepts_of_its_instance_or_else_its_level() -> None:
    other = dataclasses.replace(COUNTDOWN, abilities=(Concepts(of=lambda spec: ["b", "a", "b"]),))
    spec = {"numbers": [3, 5, 7], "target": 26, "witness": "3*7+5"}
    problem = COUNTDOWN.pose(spec, level=3)
    assert concepts_of(COUNTDOWN, problem) == ("level 3",) and concepts_of(other, problem) == ("a", "b")
