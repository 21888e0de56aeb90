"""Checks of parts: what their functions may ask for, in which slot a part belongs, and which values its fields take.

check_parts(recipe.mechanism, "mechanism")  # refuses a gate in the slot of a curator, and names the right slot
misspelt(Clip)                              # None, or which argument of the function nobody offers
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin

from assay.errors import ConfigError
from assay.part import KINDS, Part, Place, Within, kind_of, name_of
from assay.streams import hints_of

GIVEN = {
    "memory": "what the run remembers between steps (assay.memory.Memory)",
    "first": "the ordinal of the first problem to draw; the draws of a step are numbered from 0",
    "count": "number of problems to draw",
    "requests": "the requests of the step so far (assay.types.Request); one request asks for one answer",
    "collect": "the collector to wrap: a function (models, requests, memory) -> (episodes, memory)",
    "episodes": "the answers that the step has generated so far (assay.types.Episode); for a reward, those of one role",
    "rows": "the episodes on their way to the learner, with marks and per-token streams (assay.types.Row)",
    "seen": "the values of each metric, one a step, since the present stage began",
    "logp": "log-prob of each token under the current weights, with a gradient",
    "old": "log-prob of each token under the weights before the first update of the step",
    "ratio": "the importance ratio w of each token, without a gradient",
    "advantage": "the advantage A of each token",
    "batch": "all rows of an optimiser step, packed (assay.types.Batch)",
    "view": "whole rows as tensors (assay.objective.view.View)",
}
"""The positional arguments of parts' functions. `given` of a kind says which of them it uses, and in which order."""

OFFERED = {
    "pool": "where problems come from (assay.source.Pool)",
    "codec": "the tokenizer (assay.ask.Codec)",
    "sampling": "how answers are sampled (assay.ask.Sampling)",
    "num_prompts": "number of prompts whose groups a step trains on",
    "group_size": "number of answers to each prompt",
    "max_new": "the generation limit: the most tokens that an answer may have",
    "drawn": "number of problems that each round of a step draws: num_prompts times oversample",
    "num_steps": "number of steps of the run",
    "since": "number of the first step of this stage, by the shares of the stages",
    "until": "number of the first step after this stage",
    "micro_tokens": "the most tokens in one micro-batch, which is one forward and backward pass",
    "scale": "all numbers of the recipe's scale (assay.scale.Scale)",
    "memory": "what the run remembers between steps (assay.memory.Memory)",
    "models": "the parameter sets by name and by role (assay.models.Models)",
    "more": "function (memory, first ordinal, count) -> requests for further problems of the same step",
    "rewarded": "function (episodes, models, memory) -> the episodes with their rewards",
    "paused": "the episodes that wait for their next turn",
    "noted": "the part's own dictionary, empty at first, for what it computes once and reads in later rounds of a step",
    "everyone": "the episodes of all roles so far",
    "episodes": "all answers that the step generated",
    "rows": "the rows of this step, as the learner got them",
    "stats": "the metrics of this step",
    "view": "whole rows as tensors (assay.objective.view.View)",
    "weight": "the weight of each token in the loss, as `aggregate` gives it",
    "place": "the name in the memory of the part's own store, or of the store that the part `reads`",
}
"""Further arguments of functions: a function gets each of these that it names. `offers` of a kind says which of them
the functions of this kind may name.
"""


def misspelt(record: type[Part]) -> str | None:
    """The fault in the signature of a part's function, in words; None if the function can be called."""
    kind = kind_of(record)
    arguments = (*kind.given, *kind.offers)
    if wrong := [name for name in _asked(record) if name not in arguments]:
        near = difflib.get_close_matches(wrong[0], arguments, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        offers = ", ".join(kind.offers) or "nothing else"
        return (
            f"the function of {record.__name__} asks for '{wrong[0]}', which is neither a field of {record.__name__} "
            f"nor offered to parts of `{kind.slots[0]}`.{hint} The function is called with {', '.join(kind.given)}, "
            f"and may ask for {offers}."
        )
    if surplus := _untaken(record):
        return (
            f"{record.__name__} has a field '{surplus}', and its function has no argument of this name. Add the "
            "argument, or mark the field `for_caller`."
        )
    return None


def _untaken(record: type[Part]) -> str:
    """A field that the function of the part would be called with and does not take; '' if it takes all."""
    parameters = inspect.signature(record.does).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return ""
    taken = {parameter.name for parameter in parameters}
    given = (field.name for field in dataclasses.fields(record) if "kept" not in field.metadata)
    return next((name for name in given if name not in taken), "")


def _asked(record: type[Part]) -> Iterator[str]:
    """The arguments without a default that are no fields of the record."""
    fields = {field.name for field in dataclasses.fields(record)}
    # the wrapper of a wrapped function computes its positional arguments; only its keyword arguments are asked for
    wrapped = hasattr(record.does, "__wrapped__")
    for parameter in inspect.signature(record.does).parameters.values():
        positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if (wrapped and positional) or parameter.name in fields or parameter.default is not parameter.empty:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        yield parameter.name


def _require_kind(part: object, kind: type[Part], place: str) -> None:
    """Refuses a part in the wrong slot, and names the slot in which the part belongs."""
    if isinstance(part, kind):
        return
    if isinstance(part, Part) and isinstance(part, KINDS):
        slots = " or ".join(f"`{slot}`" for slot in kind_of(part).slots)
        own, found = type(part).__name__, kind_of(part).__name__
        raise ConfigError(f"{place} takes a {kind.__name__}, but {own} is a {found}. Put {own} in {slots}.")
    raise ConfigError(f"{place} takes a {kind.__name__} of `assay list parts`, not {part!r}.")


def check_choices(record: Any, place: str, hints: Mapping[str, Any] | None = None) -> None:
    """Refuses a field whose value is not one of its choices. Only recipes in Python need this check: values from a file
    or the command line are checked when they are read.
    """
    for name, hint in (hints or hints_of(type(record))).items():
        choices, value = choices_of(hint), getattr(record, name, None)
        if choices and value not in choices and not (value is None and type(None) in get_args(hint)):
            raise ConfigError(f"{place}.{name} is one of {', '.join(map(str, choices))}, not {value!r}.")


def choices_of(hint: Any) -> tuple[Any, ...]:
    """The values that a field of this `Literal` type may have; () for any other type."""
    literal = next((found for found in (hint, *get_args(hint)) if get_origin(found) is Literal), None)
    return get_args(literal)


def bounds_of(hint: Any) -> Within | None:
    """The bounds of the numbers of a field of this type; None if it has no numbers, or may have any."""
    found = (hint, *get_args(hint))
    noted = (note for item in found for note in getattr(item, "__metadata__", ()) if isinstance(note, Within))
    return next(noted, Within(0) if int in found else None)


def _require_within(item: Any, bounds: Within | None, place: str) -> None:
    """Refuses a number that its field cannot have. One that is no number (nan) lies within no bounds."""
    if bounds is not None and isinstance(item, int | float) and item not in bounds:
        raise ConfigError(f"{place} must be {bounds}, not {item:g}.")


class Clash(NamedTuple):
    """Two parts that cannot stand in one mechanism, in this order, by what they say that they read and write."""

    earlier: tuple[Literal["reads", "writes"], Place]
    later: tuple[Literal["reads", "writes"], Place]
    says: str  # with the names of the two parts at {earlier} and {later}


CLASHES = (
    Clash(
        ("writes", "rows"),
        ("writes", "aside"),
        "{later} sets rows aside for a later step, and they come back without what {earlier} wrote on them. Put "
        "{earlier} behind {later} in `curate`, or leave one of them out.",
    ),
    Clash(
        ("writes", "group"),
        ("reads", "group"),
        "{later} gives a critic targets for answers that count in their group, and some answers that {earlier} leaves "
        "in the loss count in none. Leave {earlier} out of curate, or take another credit.",
    ),
)


def clash(parts: Sequence[Part]) -> str:
    """Why two of these parts, which work one after the other, cannot do so, and what to change; '' if all can."""
    for place, earlier in enumerate(parts):
        for later in parts[place + 1 :]:
            for one in CLASHES:
                if one.earlier[1] in getattr(earlier, one.earlier[0]) and one.later[1] in getattr(later, one.later[0]):
                    return one.says.format(earlier=name_of(earlier), later=name_of(later))
    return ""


def check_parts(record: Any, place: str) -> None:
    """Checks a record and all records in it; `place` is its path on the command line.

    Refuses a part in the wrong slot, a part whose function asks for an unknown argument, a value that is not one of the
    choices of its field, and a number that its field cannot have.
    """
    hints = hints_of(type(record))
    check_choices(record, place, hints)
    for field in dataclasses.fields(record):
        value, hint, where = getattr(record, field.name), hints[field.name], f"{place}.{field.name}"
        bounds = bounds_of(hint) if isinstance(record, Part) else None
        kind = next((option for option in (hint, *get_args(hint)) if option in KINDS), None)
        items = {f"{where}.{i}": item for i, item in enumerate(value)} if isinstance(value, tuple) else {where: value}
        for own, item in items.items():
            if kind is not None and not (item is None and type(None) in get_args(hint)):
                _require_kind(item, kind, where)
            _require_within(item, bounds, own)
            if isinstance(item, KINDS) and (problem := misspelt(type(item))):
                raise ConfigError(f"{own}: {problem}")
            if dataclasses.is_dataclass(item):
                check_parts(item, own)
