"""Words in the fields of parts: one of a list is checked before anything runs, any other is a name of something."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args, get_type_hints

import pytest
from of_methods import said

from assay.errors import ConfigError
from assay.known import PARTS, RECIPES
from assay.part import Part, kind_of, name_of
from assay.part_checks import check_parts, choices_of
from assay.recipe import Like, check
from assay.run.configure import from_data

EVERY = {f"{kind.slots[0]}:{name}": part for kind, parts in PARTS.items() for name, part in parts.items()}
FREE = {  # what a text may be that has no list of choices, by field
    "name": "of a store, a reward or a metric, chosen by the recipe",
    "of": "of the part that set rows aside",
    "tag": "of rows, chosen by the recipe",
    "role": "of the recipe's role table",
    "roles": "of the recipe's role table",
    "extremes": "of the recipe's role table",
    "voters": "of the recipe's role table",
    "critic": "of the recipe's role table",
    "model": "of the recipe's models",
    "names": "of the recipe's models",
    "score": "a column of the data",
    "metric": "of the metrics of a step",
    "until": "texts that an answer may hold",
    "criteria": "of a rubric, for a judge to read",
    "guards": "of a rubric, for a judge to read",
    "texts": "that an answer may hold",
    "marks": "the characters that end a step",
    "tasks": "of the pool",
    "but": "tasks of the pool",
    "tools": "of the worlds of the pool",
    **said("FREE"),
}


def fields(part: type[Part]) -> dict[str, Any]:
    hints = get_type_hints(part)
    return {field.name: hints[field.name] for field in dataclasses.fields(part)}


WITH_CHOICES = [
    (place, name)
    for place, part in EVERY.items()
    for name, hint in fields(part).items()
    if str in map(type, choices_of(hint))
]


def test_a_text_without_a_list_of_choices_names_something() -> None:
    """A word that a function compares with constants belongs into a `Literal`: then a misspelt one is refused."""
    texts = {name for part in EVERY.values() for name, hint in fields(part).items() if str in (hint, *get_args(hint))}
    assert texts == set(FREE)


@pytest.mark.parametrize(("place", "name"), WITH_CHOICES)
def test_a_misspelt_word_is_refused_with_the_choices(place: str, name: str) -> None:
    part = EVERY[place]
    choices = choices_of(fields(part)[name])
    with pytest.raises(ConfigError, match=rf"here\.{name} is one of .*{choices[-1]}.*not 'wrogn'".replace("+", r"\+")):
        from_data(kind_of(part), {"part": name_of(part), name: "wrogn"}, place="here")
    with pytest.raises(ConfigError, match=rf"here\.{name} is one of"):
        check_parts(part(**{name: "wrogn"}), "here")


def test_the_choices_were_found() -> None:
    assert ("credit:group-relative", "scale") in WITH_CHOICES and ("shape:whiten", "by") in WITH_CHOICES
    assert ("expand:fork", "by") in WITH_CHOICES


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("mechanism.credit", EVERY["credit:group-relative"](scale="variance"), "mechanism.credit.scale is one of"),  # type: ignore[call-arg]
        ("scale.schedule", "cosin", "scale.schedule is one of constant, linear, cosine, not 'cosin'"),
    ],
)
def test_a_recipe_that_code_wrote_is_refused_before_it_runs(path: str, value: Any, says: str) -> None:
    wrong = Like("grpo", name="wrong", claim="-", changes={path: value}).of(RECIPES["grpo"])
    with pytest.raises(ConfigError, match=says):
        check(wrong)
