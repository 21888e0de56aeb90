"""Parts: the records of which a recipe is made.

A part is a frozen dataclass of hyper-parameters. Its kind says which slot of a recipe it fits, and `does` names the
pure function that does its work and takes the hyper-parameters as keyword arguments:

    def clip(ratio, advantage, *, low, high): ...

    @dataclass(frozen=True)
    class Clip(Gate):
        low: float = 0.2
        high: float = 0.2
        does = clip

A part is known by the name of its class, `ShapedBy` by `shaped-by`, unless it is `known_as` something else. What it was
known by `formerly` is still read.
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from assay.errors import ConfigError
from assay.streams import Stream

if TYPE_CHECKING:
    from assay.ask import Codec
    from assay.recipe import Mechanism
    from assay.scale import Scale
    from assay.source import Pool
    from assay.types import Problem

LossScope = Literal["data", "row", "step"]
"""What a part of the objective has to see at once: the batch alone, whole rows, all rows of an optimiser step."""

GIVEN = {
    "memory": "what the run remembers between steps (assay.memory.Memory)",
    "first": "the ordinal of the first problem that is wanted; a step's draws are numbered from 0",
    "count": "how many problems are wanted",
    "requests": "what would be asked (assay.types.Request): one request is one answer that will be sampled",
    "collect": "function (models, requests, memory) -> (episodes, memory): the collector that is wrapped",
    "episodes": "what was generated so far in this step (assay.types.Episode), that of a role where rewards are asked",
    "rows": "the episodes on their way to the learner, with marks and streams (assay.types.Row)",
    "seen": "metric -> its values in the steps since the present stage began",
    "logp": "log-prob of each token under the current weights, with a graph",
    "old": "log-prob of each token before the update",
    "ratio": "w of each token, without a graph",
    "advantage": "A of each token",
    "batch": "all rows of an optimiser step, packed (assay.types.Batch)",
    "view": "whole rows as tensors (assay.objective.view.View)",
}
"""What a part's function is called with, by position; `Part.given` says which of it, and in which order."""

OFFERED = {
    "pool": "where problems come from (assay.source.Pool)",
    "codec": "the tokenizer (assay.ask.Codec)",
    "sampling": "how answers are sampled (assay.ask.Sampling)",
    "num_prompts": "prompts whose groups are trained on in a step",
    "group_size": "answers to each prompt",
    "max_new": "the generation limit in tokens",
    "drawn": "problems drawn a round: num_prompts times oversample",
    "num_steps": "steps of the run",
    "micro_tokens": "tokens of one forward and backward pass",
    "scale": "all numbers of the set-up (assay.scale.Scale)",
    "memory": "what the run remembers between steps (assay.memory.Memory)",
    "models": "the parameter sets by name and by role (assay.models.Models)",
    "more": "function (memory, first ordinal, count) -> requests for further problems of the same step",
    "paused": "episodes that wait for their next turn",
    "everyone": "the episodes of all roles so far",
    "episodes": "what was generated in this step",
    "rows": "what went to the learner in this step",
    "stats": "what this step measured",
    "view": "whole rows as tensors (assay.objective.view.View)",
    "weight": "weight of each token in the loss",
    "place": "the name of the store in the memory that the part keeps, or that a part of `reads` keeps for it",
}
"""What a part's function may ask for by naming it as an argument; `Part.offers` says what its kind is offered of it."""
_RUN = (
    *("pool", "codec", "sampling", "num_prompts", "group_size", "max_new"),
    *("drawn", "num_steps", "micro_tokens", "scale", "place"),
)


@dataclasses.dataclass(frozen=True)
class Part:
    """Base of all kinds; has no fields."""

    does: ClassVar[Callable[..., Any]]
    known_as: ClassVar[str] = ""
    formerly: ClassVar[tuple[str, ...]] = ()  # names that older run folders call it by; they are read, never written
    slots: ClassVar[tuple[str, ...]] = ()  # of a kind: the fields of a recipe that take it
    given: ClassVar[tuple[str, ...]] = ()  # of a kind: what its functions are called with, in this order
    offers: ClassVar[tuple[str, ...]] = ()  # of a kind: names of `OFFERED` that its functions may ask for besides

    reads: ClassVar[tuple[type[Remembering], ...]] = ()  # one of these keeps what the part goes by
    fills: ClassVar[tuple[Stream, ...]] = ()  # constants of the rows that it finds out for other parts
    needs: ClassVar[tuple[Stream, ...]] = ()  # constants of the rows that another part has to find out for it
    solutions: ClassVar[Literal["none", "some", "all"]] = "none"  # how many problems must have a worked solution

    @property
    def called(self) -> str:
        """Tells stores of one kind apart: who keeps and who reads it bear the same; '' where one kind has one store."""
        return ""

    def refusal(self, *, scale: Scale, mechanism: Mechanism) -> str | None:
        """Why the part cannot work at this scale beside the other parts of this mechanism, and what to change; None
        where it can. Asked before anything is loaded.
        """
        return None

    def grows(self, problem: Problem, codec: Codec, max_new: int) -> int:
        """By how many tokens the part may make the prompt of this problem longer, what it puts before an answer that
        keeps its whole limit counted in. The check that prompts and answers fit into the model's context adds it.
        """
        return 0


@dataclasses.dataclass(frozen=True)
class Source(Part):
    """Which problems a step works on. Its function gives `count` problems; ordinals number a step's draws from 0."""

    slots = ("source",)
    given = ("memory", "first", "count")
    offers = _RUN
    world: ClassVar[str] = ""  # what its problems are, where it takes those of one kind alone
    posed: ClassVar[bool] = False  # the policy itself is asked for new problems of the pool's tasks

    def unfit(self, pool: Pool) -> str | None:
        """Why the problems of this pool cannot be drawn in this way; None where they can."""
        return None


@dataclasses.dataclass(frozen=True)
class Asking(Part):
    """What is asked about the problems: hints, given beginnings, temperatures. Its function gives the requests anew."""

    slots = ("ask",)
    given = ("requests",)
    offers = (*_RUN, "memory", "models")
    examined: ClassVar[bool] = False  # held-out problems are asked with it too
    replies: ClassVar[bool] = True  # it can be used where a task's environment answers back
    imitates: ClassVar[bool] = False  # the answers are there already: the policy is not asked


@dataclasses.dataclass(frozen=True)
class Expansion(Part):
    """What is asked next, given what exists so far: retries, branches, refills. Its function gives further requests."""

    slots = ("expand",)
    given = ("episodes",)
    offers = (*_RUN, "memory", "models", "more", "paused")
    continues: ClassVar[bool] = False  # it asks for answers that begin like others of the same step


@dataclasses.dataclass(frozen=True)
class Collecting(Part):
    """How answers are collected. Its function makes another collector of the one that it is given."""

    slots = ("collect",)
    given = ("collect",)
    offers = (*_RUN, "more")


@dataclasses.dataclass(frozen=True)
class Rewarding(Part):
    """What an answer is worth. Its function gives a reward for each episode, or None where it has nothing to say."""

    slots = ("reward",)
    given = ("episodes",)
    offers = (*_RUN, "everyone")
    outcome: ClassVar[bool] = False  # it says whether the answer is right: reward functions of a user take its place
    deducts: ClassVar[bool] = False  # it never gives, it only takes


@dataclasses.dataclass(frozen=True)
class Curator(Part):
    """Which rows train. Its function marks rows; it deletes none."""

    slots = ("curate",)
    given = ("rows",)
    offers = (*_RUN, "memory", "models")
    sets_aside: ClassVar[bool] = False  # rows wait for a later step, with their three marks
    returns_first: ClassVar[bool] = False  # what waited takes the place of groups of the step
    writes: ClassVar[bool] = False  # on rows, more than the three marks; what waits would lose it


@dataclasses.dataclass(frozen=True)
class Forward(Part):
    """What a model says of the rows before the update. Its function gives the rows with it, and what it measured."""

    slots = ("forwards",)
    given = ("rows",)
    offers = (*_RUN, "memory", "models")


@dataclasses.dataclass(frozen=True)
class Credit(Part):
    """How hard each token is pushed. Its function gives the rows with their advantages."""

    slots = ("credit",)
    given = ("rows",)
    offers = (*_RUN, "memory")
    compares: ClassVar[bool] = False  # with the other answers of the group: a group of one teaches nothing
    targets: ClassVar[bool] = False  # it says what a critic is to learn too, of rows that count in their group


@dataclasses.dataclass(frozen=True)
class Shape(Part):
    """What is made of advantages after they were estimated. Its function gives the rows with other advantages."""

    slots = ("shape",)
    given = ("rows",)
    offers = (*_RUN, "memory")


@dataclasses.dataclass(frozen=True)
class Remembering(Part):
    """What a run keeps between steps. Its function gives the memory after the step."""

    slots = ("remember",)
    given = ("memory",)
    offers = (*_RUN, "models", "episodes", "rows", "stats")
    keeps: ClassVar[str] = ""  # the name of its store in a checkpoint, unless it is `called` otherwise

    def keeps_for(self, reader: Part) -> bool:
        """Whether this is the store that the reader means."""
        return self.called == reader.called


@dataclasses.dataclass(frozen=True)
class Condition(Part):
    """When a stage begins. Its function sees the metrics since the present stage began, and says whether it is time."""

    slots = ("when",)
    given = ("seen",)
    offers = ("memory", "pool", "place")

    @property
    def watches(self) -> str | None:
        """The metric of the steps that it waits for."""
        return None


@dataclasses.dataclass(frozen=True)
class OfObjective(Part):
    """Base of the kinds of which an objective is made."""

    @property
    def scope(self) -> LossScope:
        """What it has to see at once: `data`, the batch alone; `row`, whole rows; `step`, all rows of the step."""
        return "row"

    @property
    def wants(self) -> frozenset[str]:
        """What it needs of each token beside its log-prob: `entropy`, `top`, `mean`, `ref`, `old`."""
        return frozenset()

    @property
    def aggregations(self) -> tuple[str, ...]:
        """The names of the aggregations beside which alone the part means what it says; none: beside all."""
        return ()


@dataclasses.dataclass(frozen=True)
class Ratio(OfObjective):
    """What stands for w = pi_theta / pi_old. Its function gives a ratio for each token."""

    slots = ("ratio",)
    given = ("logp", "old")
    offers = ("view",)


@dataclasses.dataclass(frozen=True)
class Gate(OfObjective):
    """How far the policy may move. Its function gives the multiplier of each token's advantage."""

    slots = ("gate",)
    given = ("ratio", "advantage")
    offers = ("view",)


@dataclasses.dataclass(frozen=True)
class Aggregate(OfObjective):
    """What each token weighs in the loss. Its function gives a weight for each token of an optimiser step."""

    slots = ("aggregate",)
    given = ("batch",)
    offers = ("max_new",)


@dataclasses.dataclass(frozen=True)
class Selector(OfObjective):
    """Which tokens. Its function gives true or false for each token."""

    slots = ("over", "keep")
    given = ("view",)


@dataclasses.dataclass(frozen=True)
class Correction(OfObjective):
    """Who really sampled. Its function gives a weight for each token."""

    slots = ("correct",)
    given = ("view",)


@dataclasses.dataclass(frozen=True)
class WholeLoss(OfObjective):
    """A loss in place of ratio, gate and advantage. Its function gives one number, denominators included."""

    slots = ("whole",)
    given = ("view",)
    offers = ("weight",)


def for_caller(default: Any, **metadata: Any) -> Any:
    """A field that whoever calls the part's function goes by; the function does not get it."""
    return dataclasses.field(default=default, metadata={**metadata, "kept": True})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Term(OfObjective):
    """What is added to the policy's loss. Its function gives a term for each token."""

    slots = ("regularise", "extra")
    given = ("view",)
    over: Selector | None = for_caller(None)  # where it acts; None: everywhere
    mean: Literal["policy", "own"] = for_caller("policy")  # by what it is averaged


KINDS: tuple[type[Part], ...] = (
    *(Source, Asking, Collecting, Expansion, Rewarding, Curator, Forward, Credit, Shape, Remembering),
    *(Ratio, Gate, Aggregate, Term, Selector, Correction, WholeLoss, Condition),
)


def kind_of(part: Part | type[Part]) -> type[Part]:
    """Of a part, the kind that says which slot it fits."""
    record = part if isinstance(part, type) else type(part)
    return next(kind for kind in KINDS if issubclass(record, kind))


def name_of(part: Part | type[Part]) -> str:
    """By which a person and a file call a part: `shaped-by` for the class `ShapedBy`."""
    record = part if isinstance(part, type) else type(part)
    if record.known_as:
        return record.known_as
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", record.__name__).lower()


def bind(part: Part, **offered: Any) -> Callable[..., Any]:
    """The part's function with the record's values filled in.

    Of what is offered, here and at each call, it is given what its signature names: a part that needs the memory, the
    models or the tokenizer says so by an argument of that name, and no other part has to know.
    """
    function = type(part).does
    asked = inspect.signature(function).parameters
    values = {name: value for name, value in offered.items() if name in asked}
    values |= {field.name: getattr(part, field.name) for field in dataclasses.fields(part) if not _kept(field)}

    def bound(*args: Any, **more: Any) -> Any:
        return function(*args, **{name: value for name, value in more.items() if name in asked} | values)

    bound.asked = frozenset(asked)  # type: ignore[attr-defined]
    return bound


def _kept(field: dataclasses.Field[Any]) -> bool:
    return "kept" in field.metadata


def asks(bound: Callable[..., Any], name: str) -> bool:
    """Whether the function that was bound has an argument of this name."""
    return name in bound.asked  # type: ignore[attr-defined]


def misspelt(record: type[Part]) -> str | None:
    """What is wrong with the signature of a part's function; None where it can be called."""
    kind = kind_of(record)
    known = (*kind.given, *kind.offers)
    if wrong := [name for name in _asked(record) if name not in known]:
        near = difflib.get_close_matches(wrong[0], known, n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        offers = ", ".join(kind.offers) or "nothing else"
        return (
            f"the function of {record.__name__} asks for '{wrong[0]}', which is no field of the record, and which a "
            f"part of `{kind.slots[0]}` is not offered.{hint} It is called with {', '.join(kind.given)}, and may ask "
            f"for {offers}."
        )
    return None


def _asked(record: type[Part]) -> Iterator[str]:
    """Arguments without a default that are neither fields of the record nor given by position."""
    fields = {field.name for field in dataclasses.fields(record)}
    # a wrapped function is called as what wraps it, and asks for what it asks itself by keyword
    wrapped = hasattr(record.does, "__wrapped__")
    for parameter in inspect.signature(record.does).parameters.values():
        positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if (wrapped and positional) or parameter.name in fields or parameter.default is not parameter.empty:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        yield parameter.name


def _require_kind(part: object, kind: type[Part], place: str) -> None:
    """Refuses what does not belong into a slot, and names the slot into which it does."""
    if isinstance(part, kind):
        return
    if isinstance(part, Part) and isinstance(part, KINDS):
        slots = " or ".join(f"`{slot}`" for slot in kind_of(part).slots)
        own, found = type(part).__name__, kind_of(part).__name__
        raise ConfigError(f"{place} takes a {kind.__name__}, and {own} is a {found}: it belongs into {slots}.")
    raise ConfigError(f"{place} takes a {kind.__name__} of `assay list parts`, not {part!r}.")


def check_choices(record: Any, place: str, hints: Mapping[str, Any] | None = None) -> None:
    """Refuses a value that is none of the choices of its field, as only code can write one: a configuration that is
    read from a file or a command line is refused where it is read.
    """
    for name, hint in (hints or get_type_hints(type(record))).items():
        choices, value = choices_of(hint), getattr(record, name, None)
        if choices and value not in choices and not (value is None and type(None) in get_args(hint)):
            raise ConfigError(f"{place}.{name} is one of {', '.join(map(str, choices))}, not {value!r}.")


def choices_of(hint: Any) -> tuple[Any, ...]:
    """The values that a field of this type may have, where they are listed; none where they are not."""
    literal = next((found for found in (hint, *get_args(hint)) if get_origin(found) is Literal), None)
    return get_args(literal)


def check_parts(record: Any, place: str) -> None:
    """Refuses, below a record, a part in the wrong slot, a part whose function cannot be called, and a word that a
    field does not have among its choices.
    """
    hints = get_type_hints(type(record))
    check_choices(record, place, hints)
    for field in dataclasses.fields(record):
        value, hint, where = getattr(record, field.name), hints[field.name], f"{place}.{field.name}"
        kind = next((found for found in (hint, *get_args(hint)) if found in KINDS), None)
        for item in value if isinstance(value, tuple) else (value,):
            if kind is not None and not (item is None and type(None) in get_args(hint)):
                _require_kind(item, kind, where)
            if isinstance(item, KINDS) and (problem := misspelt(type(item))):
                raise ConfigError(f"{where}: {problem}")
            if isinstance(item, Part):
                check_parts(item, where)


def scales_with(measure: str, default: Any, *, at: int | None = None, inverse: bool = False) -> Any:
    """A hyper-parameter that a paper states for its own `measure` (a field of Scale) and that moves in proportion.

    In inverse proportion if it is a share of that measure, and what it comes to is to stay. `at` is the measure for
    which the default is stated, where it is stated for one.
    """
    return dataclasses.field(default=default, metadata={"scales_with": measure, "inverse": inverse, "at": at})


def parts_of(record: Any) -> Iterator[Part]:
    """All parts that a mechanism, a rule or a tuple of them is made of, and those within parts."""
    if isinstance(record, tuple):
        for item in record:
            yield from parts_of(item)
    elif dataclasses.is_dataclass(record) and not isinstance(record, type):
        if isinstance(record, Part):
            yield record
        for item in dataclasses.fields(record):
            yield from parts_of(getattr(record, item.name))
