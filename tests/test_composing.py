"""Parts that fewer than two methods use: at home in a method, or told of on a page, with options that work."""

from __future__ import annotations

import shlex

from sweeps import over

from assay.known import resolve
from assay.lab.composing import for_own_recipes, methods_with, shared_parts
from assay.part import parts_of
from assay.recipe import check
from assay.run.configure import override

OWN = for_own_recipes()
SHARED = dict(shared_parts())


def test_a_part_of_the_phases_is_shared_or_says_when_one_takes_it() -> None:
    """Of fewer than two methods: move it to the folder of its method, delete it, or say `For your own recipes: ...`."""
    used = methods_with()
    few = {place for place, part in SHARED.items() if len(used.get(part, ())) < 2}
    assert sorted(few - OWN.keys()) == []
    assert sorted(OWN.keys() - few) == [], "two methods use it: it need not say so any more"


@over(OWN)
def test_the_options_of_a_part_are_accepted(place: str) -> None:
    words, recipe = shlex.split(OWN[place][2]), resolve("grpo")
    for option, value in zip(words[::2], words[1::2], strict=True):
        recipe = override(recipe, option.removeprefix("--"), value)
    check(recipe)
    assert any(type(part) is SHARED[place] for part in parts_of(recipe.mechanism))
