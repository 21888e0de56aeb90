"""Names of other trainers' settings where ours are expected: on a command line, in a call, in one of our files. They
are refused with a message that gives our setting, with the value filled in, or says why there is none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.errors import AssayError, UsageError, unknown
from assay.run.foreign.keys import ForeignKeys, keys_of
from assay.run.foreign.view import word
from assay.run.short_names import SHORT_NAMES

if TYPE_CHECKING:
    from assay.part import Part
    from assay.recipe import Recipe

DOTTED = ("verl", "openrlhf", "prime_rl")  # systems whose keys have groups
ROOTS = {
    "actor_rollout_ref": "verl",
    "algorithm": "verl",
    "critic": "verl",
    "custom_reward_function": "verl",
    "reward_model": "verl",
    "trainer": "verl",
    "algo": "openrlhf",
    "actor": "openrlhf",
    "orchestrator": "prime_rl",
}
"""Group of keys -> the system that is meant, if no system has the key."""
PRESUMED: Mapping[str, Mapping[str, Any]] = {
    "lora_": {"use_peft": True},
    "vllm_importance_": {"use_vllm": True},
    "entropy_coef_": {"use_adaptive_entropy": True},
    "entropy_target": {"use_adaptive_entropy": True},
    "ref_model_": {"sync_ref_model": True, "beta": 0.04},
    "sync_ref_model": {"beta": 0.04},
}
"""Beginning of a TRL name -> what is presumed if it is typed alone, because nothing reads it otherwise."""
SPOKEN = ("use_vllm",)  # names that are answered by a sentence alone
VALUE = "VALUE"  # stands for the value in a message if the person gave none

Given = Mapping[str, str]
"""Their name, as it was typed -> the value that was given with it, or ''."""
Write = Callable[[Mapping[str, str]], str]
"""Writes our settings as for a shell, for Python or for a file."""


def is_theirs(name: str) -> bool:
    """Whether this is the name of another trainer's setting, such as `num_generations` or `actor.adam.lr`."""
    return _keys(_plain(name)) is not None


def _plain(name: str) -> str:
    """A name as tables have it."""
    return name.lstrip("-+").replace("-", "_")


def _keys(name: str) -> ForeignKeys | None:
    """The table of the system that has this name, or that is meant by its group."""
    head, dot, _ = name.partition(".")
    if not dot:
        row = keys_of("trl").row(name)
        return None if row is None or row.ours == name else keys_of("trl")
    if head in _ours():
        return None
    known = next((found for found in map(keys_of, DOTTED) if found.row(name) is not None), None)
    return known or (keys_of(ROOTS[head]) if head in ROOTS else None)


def _ours() -> set[str]:
    """The groups of our settings."""
    from assay.run.experiment import Experiment

    groups = {field.name for field in dataclasses.fields(Experiment)}
    return {*groups, "scale", "mechanism", "models", "roles", "stages"} - {"model"}


def refusal(given: Given, recipe: Recipe | None, *, write: Write) -> UsageError:
    """One error for all names of the system to which the first belongs."""
    of = _keys(_plain(next(iter(given))))
    assert of is not None
    mine = {name: value for name, value in given.items() if _keys(_plain(name)) is of}
    plain = {_plain(name): value for name, value in mine.items()}
    if strange := [name for name in plain if of.row(name) is None]:
        return unknown(f"key of {of.system}", strange[0], of.rows, of.page)
    settings, sentences = _answer(of, plain, recipe)
    what = f"is the name of a setting in {of.system}" if len(mine) == 1 else f"are names of settings in {of.system}"
    here = [f"In Assay write: {write(settings)}"] if settings else []
    names: dict[str, list[str]] = {}
    for typed, name in zip(mine, plain, strict=True):
        if name in sentences:
            names.setdefault(sentences[name], []).append(typed)
    told = [f"{', '.join(typed)}: {sentence}." for sentence, typed in names.items()]
    return UsageError(f"{', '.join(mine)} {what}. " + "\n".join([*here, *told]))


def _answer(of: ForeignKeys, plain: Given, recipe: Recipe | None) -> tuple[dict[str, str], dict[str, str]]:
    """(our settings with their values; name -> a sentence for a name that has none)."""
    from assay.run.foreign import translation

    values = {name: value or _standing_in(of, name) for name, value in plain.items()}
    presumed = [more for begin, more in PRESUMED.items() if any(name.startswith(begin) for name in plain)]
    context = {key: value for more in presumed if of.name == "trl" for key, value in more.items()}
    settings: dict[str, str] = {}
    sentences: dict[str, str] = {}
    try:
        made, why = translation.single(of, {**context, **values})
    except AssayError as error:
        return {}, dict.fromkeys(plain, str(error).rstrip("."))
    for name in plain:
        ours = {} if name in why or name in SPOKEN else dict(_of_row(of, name, made, plain, recipe))
        lacking = _lacking(ours, recipe)
        settings |= {} if lacking else ours
        if not ours or lacking:
            sentences[name] = lacking or why.get(name) or _sentence(of, name, made)
    return settings, sentences


def _standing_in(of: ForeignKeys, name: str) -> Any:
    """A value for a name that was typed without one: true for a switch, else what the system has by default."""
    row = of.row(name)
    assert row is not None
    if row.default is None or isinstance(row.default, bool) or "true" in row.values:
        return True
    return row.default


def _of_row(
    of: ForeignKeys, name: str, made: Mapping[str, Any], plain: Given, recipe: Recipe | None
) -> Iterator[tuple[str, str]]:
    """(our setting as it is typed, its value) for each setting of a name."""
    row = of.row(name)
    assert row is not None
    for setting in row.settings:
        path = setting.replace("-", "_")
        holder = next((held for held in made if held == path or path.startswith(f"{held}.")), None)
        if holder is None or path == "recipe":
            continue
        value = made[holder]
        inner = value.get(path.removeprefix(f"{holder}.")) if path != holder and isinstance(value, Mapping) else value
        idle = len(row.settings) > 1 and _is_parts(inner) and _has(recipe, path, inner)
        if inner is not None and not idle:
            yield from _leaves(setting, inner, plain, alone=not plain[name])


def _is_parts(value: Any) -> bool:
    """Whether a value is a part, or a list of parts."""
    return isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(item, Mapping) for item in value))


def _has(recipe: Recipe | None, path: str, value: Any) -> bool:
    """Whether the recipe has these parts already."""
    from assay.run.configure import override

    try:
        return recipe is not None and path.startswith("mechanism.") and override(recipe, path, value) == recipe
    except AssayError:
        return False


def _leaves(setting: str, value: Any, plain: Given, *, alone: bool = False) -> Iterator[tuple[str, str]]:
    """(setting, text) as a shell takes it: the names of parts, and then their fields by place."""
    short = {path: name for name, path in SHORT_NAMES.items()}.get(setting, setting)
    if isinstance(value, Mapping):
        yield from _of_parts(setting, [value], plain, listed=False)
    elif isinstance(value, list) and _is_parts(value):
        yield from _of_parts(setting, value, plain, listed=True)
    elif isinstance(value, list):
        yield short, (" " if setting in ("data", "track") else ",").join(map(str, value)) or "none"
    else:
        typed = next((text for text in plain.values() if text and _same(text, value)), None)
        yield short, VALUE if alone and not isinstance(value, str) else typed or word(value)


def _of_parts(setting: str, parts: Sequence[Any], plain: Given, *, listed: bool) -> Iterator[tuple[str, str]]:
    """The names of parts, and those of their fields that are typed or differ from the defaults."""
    yield setting, ",".join(part["part"] if isinstance(part, Mapping) else str(part) for part in parts)
    for at, part in enumerate(parts):
        plainly = _defaults(setting, part["part"]) if isinstance(part, Mapping) else {}
        for field, value in part.items() if isinstance(part, Mapping) else ():
            typed = any(text and _same(text, value) for text in plain.values())
            if field != "part" and (typed or plainly.get(field) != value):
                path = f"{setting}.{at}.{field}" if listed else f"{setting}.{field}"
                yield from _leaves(path.replace("_", "-"), value, plain)


def _defaults(setting: str, name: str) -> dict[str, Any]:
    """The defaults of the fields of a part, by its name and the slot that takes it."""
    from assay.known import PARTS

    found: list[type[Part]] = [named[name] for named in PARTS.values() if name in named]
    fields = dataclasses.fields(found[0]) if found else ()
    return {field.name: field.default for field in fields}


def _same(text: str, value: Any) -> bool:
    """Whether typed text says this value."""
    try:
        return float(text) == float(value)
    except (TypeError, ValueError):
        return text == str(value)


def _lacking(ours: Mapping[str, str], recipe: Recipe | None) -> str:
    """What the recipe lacks of these settings, so that none is offered that would fail."""
    from assay.run.configure import override

    changed = recipe
    for path, value in ours.items():
        if changed is None or not path.startswith("mechanism.") or value == VALUE:
            continue
        try:
            changed = override(changed, path, value)
        except AssayError:
            lacks = f"{changed.name} has nothing called {path.removeprefix('mechanism.')}"
            return f"{lacks}; `assay explain {changed.name}` shows its parts"
    return ""


def _sentence(of: ForeignKeys, name: str, made: Mapping[str, Any]) -> str:
    """A sentence for a name whose value gives no setting."""
    row = of.row(name)
    assert row is not None
    if "recipe" in row.settings and "recipe" in made:
        return f"the recipe `{made['recipe']}` has it"
    settings = ", ".join(f"--{setting}" for setting in row.settings)
    if not settings or name in SPOKEN:
        return row.because or "it changes nothing here"
    return f"{settings} in Assay" + (f"; {row.because}" if row.because else "")
