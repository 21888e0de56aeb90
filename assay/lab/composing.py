"""Parts for recipes of one's own: those of the phases' folders that fewer than two methods use. Such a part says in its
docstring when one takes it (`For your own recipes: ...`), above the options that add it to a recipe.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.known import METHOD_OF, PARTS, RECIPES
from assay.lab.part_card import paragraphs
from assay.part import Part, name_of, parts_of

SAYS = "For your own recipes: "


def shared_parts() -> Iterator[tuple[str, type[Part]]]:
    """(`slot:name`, class) of each part that stands in the folder of a phase."""
    for kind, parts in PARTS.items():
        for part in parts.values():
            if part.__module__.startswith("assay.") and not part.__module__.startswith("assay.methods."):
                yield f"{kind.slots[0]}:{name_of(part)}", part


def methods_with() -> dict[type[Part], set[str]]:
    """Part -> the methods in whose recipes it stands, also within other parts."""
    found: dict[type[Part], set[str]] = {}
    for name, recipe in RECIPES.items():
        for part in parts_of((recipe.mechanism, recipe.stages)):
            found.setdefault(type(part), set()).add(METHOD_OF[name])
    return found


def for_own_recipes() -> dict[str, tuple[str, str, str]]:
    """`slot:name` -> (what the part does, when one takes it, the options that add it), for the parts that say when."""
    found = {}
    for place, part in shared_parts():
        summary, *says = paragraphs(part)
        when = [text.removeprefix(SAYS) for text in says if text.startswith(SAYS)]
        if when:
            found[place] = summary, when[0], says[-1].splitlines()[-1]
    return found
