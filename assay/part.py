"""Parts: the records of which a recipe is made.

A part is a frozen record of hyper-parameters. Its base class, the kind, says which slot of a recipe takes the part.
`does` names the pure function that does the work and gets the hyper-parameters as keyword arguments:

    def clip(ratio, advantage, *, low, high): ...

    class Clip(Gate):
        low: float = 0.2
        high: float = 0.2
        does = clip

A recipe in Python writes the part as a value. The command line writes its name, which is the name of the class in lower
case with dashes, unless the class sets `known_as`. Names that a part had `formerly` are still read:

    Objective(gate=Clip(high=0.28))
    --mechanism.objective.gate clip --mechanism.objective.gate.high 0.28
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, dataclass_transform

from assay.streams import Stream

if TYPE_CHECKING:
    from assay.ask import Codec
    from assay.prompt import Prompt
    from assay.recipe import Mechanism
    from assay.scale import Output, Scale
    from assay.source import Pool
    from assay.types import Problem, RewardScope

LossScope = Literal["data", "row", "step"]
"""The rows that a part of an objective must see at once: the packed batch alone, whole rows, or all rows of the step.
"""

Place = Literal["beginning", "attention", "rows", "aside", "order", "group", "penalty"]
PLACES: dict[Place, str] = {
    "beginning": "a beginning of an answer, which the policy continues; in some tasks a world writes there too",
    "attention": "which tokens of an answer the policy attends to",
    "rows": "more on rows than their three marks; rows that are set aside lose it",
    "aside": "rows that are set aside for a later step, with their three marks",
    "order": "which groups come first: those that were set aside, before the groups of the step",
    "group": "which of the answers in the loss count in the statistics of their group",
    "penalty": "a reward that is never above 0",
}
"""The places that a part may name as read or written, beside those of its kind."""


Thing = Place | Stream | type["Remembering"]
"""A thing that parts read or write: a place, a constant of rows, or a store that is read, named by its keeper's class.
"""


@dataclasses.dataclass(frozen=True)
class Within:
    """The numbers that a field may have, in the type of the field: `Annotated[int, Within(2)]` takes 2 and more. A
    field of the type `int` takes 0 and more, because the whole numbers of parts are counts.
    """

    least: float
    most: float = float("inf")
    above: bool = False  # numbers must be more than the least one

    def __contains__(self, number: float) -> bool:
        return (self.least < number if self.above else self.least <= number) and number <= self.most

    def __str__(self) -> str:
        if self.most < float("inf"):
            return f"{'above' if self.above else 'from'} {self.least:g} {'up ' * self.above}to {self.most:g}"
        return f"above {self.least:g}" if self.above else f"{self.least:g} or more"


Count = Annotated[int, Within(1)]
"""A whole number of which 0 would mean nothing, or the opposite of what it says: a slice [-0:] has all items."""
Proportion = Annotated[float, Within(0, 1)]
"""A part of a whole, a rate or a probability."""
PositiveProportion = Annotated[float, Within(0, 1, above=True)]
"""A share that is more than nothing."""
Positive = Annotated[float, Within(0, above=True)]
"""A number that something is divided by, or of which the logarithm is taken."""
Ddof = Literal[0, 1]
"""The number subtracted from the count of values to get the divisor of a variance: with 2 a pair would have none."""

_RUN = (
    "pool",
    "codec",
    "sampling",
    "num_prompts",
    "group_size",
    "max_new",
    "drawn",
    "num_steps",
    "since",
    "until",
    "micro_tokens",
    "scale",
    "place",
)
"""The arguments that functions of most kinds may have: the set-up of the run. `OFFERED` of part_checks explains each.
"""


def for_caller(default: Any, **metadata: Any) -> Any:
    """A field for the caller of the part's function; the function itself does not get this field."""
    return dataclasses.field(default=default, metadata={**metadata, "kept": True})


def scales_with(measure: str, default: Any, *, at: int | None = None, inverse: bool = False) -> Any:
    """A hyper-parameter that changes in proportion to `measure`, a field of `Scale`, when a run has another scale than
    the paper. With `inverse=True` it changes in inverse proportion: it is a share, and share times measure stays.

        buffer: int = scales_with("max_new", 4096, at=20480)  # 4096 for answers of 20480 tokens, 205 for 1024

    `at` is the value of the measure for which the default is stated, if the paper states one.
    """
    return dataclasses.field(default=default, metadata={"scales_with": measure, "inverse": inverse, "at": at})


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Record:
    """Base class of frozen records that need no decorator: `class Clip(Gate): low: float = 0.2`.

    The records are dataclasses: `dataclasses.fields` and `replace` work on them. What the decorator would generate and
    compile for each class anew (`__init__`, `__repr__`, `__eq__`, ...) is written here once for all: compiling took the
    larger part of the time until a command began. With `kw_only=True` after the base class the fields of the class are
    given by name alone.
    """

    _fields: ClassVar[tuple[dataclasses.Field[Any], ...]]

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        super().__init_subclass__()
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        cls._fields = dataclasses.fields(cls)  # type: ignore[arg-type]  # the line above made it a dataclass

    def __init__(self, *values: Any, **named: Any) -> None:
        told = type(self).__name__
        ordered = [field.name for field in self._fields if not field.kw_only]
        if len(values) > len(ordered):
            raise TypeError(f"{told} has {len(ordered)} fields that need no name, and {len(values)} values came")
        given = dict(zip(ordered, values, strict=False))
        if twice := sorted(given.keys() & named.keys()):
            raise TypeError(f"{told} got two values for its field '{twice[0]}'")
        given |= named
        for field in self._fields:
            value = given.pop(field.name, field.default)
            if value is dataclasses.MISSING:
                raise TypeError(f"{told} needs a value for its field '{field.name}'")
            object.__setattr__(self, field.name, value)
        if given:
            names = ", ".join(field.name for field in self._fields) or "none"
            raise TypeError(f"{told} has no field '{next(iter(given))}'; its fields: {names}")

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in self._fields)

    def __repr__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in self._fields)
        return f"{type(self).__qualname__}({values})"

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __setattr__(self, name: str, value: Any) -> None:
        raise dataclasses.FrozenInstanceError(f"a {type(self).__name__} does not change; use dataclasses.replace")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"a {type(self).__name__} does not change; use dataclasses.replace")


class Part(Record):
    """Base class of all kinds of parts. It has no fields."""

    does: ClassVar[Callable[..., Any]]
    known_as: ClassVar[str] = ""
    formerly: ClassVar[tuple[str, ...]] = ()  # names of the part in older run folders; they are read, never written
    slots: ClassVar[tuple[str, ...]] = ()  # set by a kind: the fields of a recipe that take its parts
    given: ClassVar[tuple[str, ...]] = ()  # set by a kind: the positional arguments of its functions, in this order
    offers: ClassVar[tuple[str, ...]] = ()  # set by a kind: names of `OFFERED` (part_checks) that they may ask for

    reads: ClassVar[tuple[Thing, ...]] = ()  # what it reads beside its arguments: places, constants, stores
    writes: ClassVar[tuple[Thing, ...]] = ()  # what it writes beside what its kind does: places, constants
    solutions: ClassVar[Literal["none", "some", "all"]] = "none"  # how many problems must have a worked solution
    needs: ClassVar[tuple[str, ...] | None] = None  # abilities of the policy (`assay.policy.kinds`); None: see `needed`
    needs_verdict: ClassVar[bool] = False  # it reads whether the verifier finds an answer right

    @property
    def refers(self) -> bool:
        """Whether the part scores with the weights from before training, which the run then keeps."""
        return False

    def reads_verdict(self, problem: Problem) -> bool:
        """Whether the part reads the verdict on answers to this problem, of the parts within it apart. A row of data
        without a reference answer has no verdict, so that such a part cannot work with it.
        """
        return self.needs_verdict

    def concerns(self, problem: Problem) -> bool:
        """Whether the part, and the parts within it, have to do with answers to this problem."""
        return True

    @property
    def called(self) -> str:
        """The name of the part's store, where a recipe may have several of a kind: the part that keeps a store and the
        parts that read it give the same name. '' where there is only one store of the kind.
        """
        return ""

    @property
    def outputs(self) -> Mapping[str, Output]:
        """The models of the recipe that the part reads or trains and that must have a value head, by name: with `value`
        for their values alone, with `both` for tokens that the part trains beside them. A recipe without them is
        refused.
        """
        return {}

    def unfit(self, pool: Pool) -> str | None:
        """Why the part cannot work on the problems of this pool; None if it can."""
        return None

    def prepare(self) -> Mapping[str, str]:
        """Looks, before a run, whether what the part needs outside of the program is there, for example a judge. An
        error says what to do. Returns the version of each such thing, by its name.
        """
        return {}

    def refusal(self, *, scale: Scale, mechanism: Mechanism) -> str | None:
        """Why the part cannot work at this scale or with the other parts of this mechanism, and what to change; None if
        it can. The program asks before it loads anything.
        """
        return None

    def prompts(self, prompt: Prompt, problem: Problem, codec: Codec, max_new: int) -> Sequence[Prompt]:
        """The longest prompts that the part makes of this prompt of a problem; a part that writes none leaves it as it
        is. A text that is not written yet, such as an answer of `max_new` tokens, has room in the prompt instead
        (`prompt.longer`), and so has a prefix of the answer, if the policy may still write `max_new` tokens after it.
        The program renders these prompts when it checks that prompts and answers fit into the model's context.
        """
        return (prompt,)


class Source(Part):
    """Which problems a step works on. Its function returns `count` problems; a step numbers its draws from 0."""

    slots = ("source",)
    given = ("memory", "first", "count")
    offers = _RUN
    world: ClassVar[str] = ""  # the kind of problems, for a source that can draw only one kind
    posed: ClassVar[bool] = False  # the policy itself writes new problems of the pool's tasks


class Asking(Part):
    """How the policy is asked: hints, prefixes, temperatures. Its function returns the changed requests."""

    slots = ("ask",)
    given = ("requests",)
    offers = (*_RUN, "memory", "models")
    examined: ClassVar[bool] = False  # the part changes the requests for held-out problems too
    imitates: ClassVar[bool] = False  # the part supplies the answers itself, and the policy generates none


class Expansion(Part):
    """What to generate next, given the answers so far: retries, branches, refills. Its function returns requests."""

    slots = ("expand",)
    sizes_groups: ClassVar[bool] = False  # the answers that train come in groups of its own size
    given = ("episodes",)
    offers = (*_RUN, "memory", "models", "more", "paused", "noted")
    continues: ClassVar[bool] = False  # its requests have prefixes of answers of the same step


class Collecting(Part):
    """How answers are collected. Its function wraps a collector and returns the new one."""

    slots = ("collect",)
    given = ("collect",)
    offers = (*_RUN, "more", "rewarded")


class Rewarding(Part):
    """What an answer is worth. Its function returns a reward for each episode, or None for one without this reward."""

    slots = ("reward",)
    given = ("episodes",)
    offers = (*_RUN, "everyone", "memory", "models")
    outcome: ClassVar[bool] = False  # it says whether the answer is right; a user's reward functions replace it

    @property
    def gives(self) -> RewardScope:
        """What has a value: the whole answer (`episode`), or each of its turns, spans or tokens. Credit that knows
        whole answers only sums these values.
        """
        return "episode"

    @property
    def relative(self) -> bool:
        """Whether the reward compares the answers of a group with each other, so that its mean over the group is the
        same whatever they are.
        """
        return False

    def lacks(self, problem: Problem) -> str | None:
        """What a row of data would need for this reward to say what an answer to it is worth, in words: `the column
        'soft'`. None if it needs nothing more; '' if the reward never says it, as a penalty does not.
        """
        inner = [child.lacks(problem) for child in within(self)]
        if inner:
            return None if None in inner else " or ".join(dict.fromkeys(said for said in inner if said))
        if problem.open and self.reads_verdict(problem):
            return "a reference answer"
        return "" if "penalty" in self.writes else None

    def spoilt(self, problem: Problem) -> str | None:
        """What is wrong with the columns of a row of data that this reward reads, in words; None if nothing is."""
        return None


class Curator(Part):
    """Which rows train. Its function marks rows and deletes none."""

    slots = ("curate",)
    given = ("rows",)
    offers = (*_RUN, "memory", "models")


class Forward(Part):
    """What models compute for the rows before the update. Its function returns the rows with it, and metrics."""

    slots = ("forwards",)
    given = ("rows",)
    offers = (*_RUN, "memory", "models", "everyone")


class Credit(Part):
    """The advantage estimator. Its function returns the rows with an advantage for each token."""

    slots = ("credit",)
    given = ("rows",)
    offers = (*_RUN, "memory")
    compares: ClassVar[bool] = False  # it compares the answers of a group, so that a group of one teaches nothing


class Shape(Part):
    """How estimated advantages are changed. Its function returns the rows with the changed advantages."""

    slots = ("shape",)
    given = ("rows",)
    offers = (*_RUN, "memory")


class Remembering(Part):
    """What a run keeps between steps. Its function returns the memory after the step."""

    slots = ("remember",)
    given = ("memory",)
    offers = (*_RUN, "models", "episodes", "rows", "stats")
    keeps: ClassVar[str] = ""  # the name of its store in a checkpoint, unless `called` gives another; "": no store

    def keeps_for(self, reader: Part) -> bool:
        """Whether the reader reads the store of this part."""
        return self.called == reader.called


class Condition(Part):
    """When a stage begins. Its function reads the metrics since the present stage began and returns true or false."""

    slots = ("when",)
    given = ("seen",)
    offers = ("memory", "pool", "place")


class OfObjective(Part):
    """Base class of the kinds of parts of which an objective is made."""

    @property
    def scope(self) -> LossScope:
        """What the part must see at once: `data`, the packed batch alone; `row`, whole rows; `step`, all rows of the
        optimiser step.
        """
        return "row"

    @property
    def wants(self) -> frozenset[str]:
        """What the part needs of each token beside its log-prob: `entropy`, `top`, `mean`, `ref`, `old`."""
        return frozenset()

    @property
    def aggregations(self) -> tuple[str, ...]:
        """The names of the aggregations that the part is correct with; () if it is correct with all."""
        return ()


class Ratio(OfObjective):
    """The importance ratio w, usually pi_theta / pi_old. Its function returns w for each token."""

    slots = ("ratio",)
    given = ("logp", "old")
    offers = ("view",)


class Gate(OfObjective):
    """How far the policy may move. Its function returns the factor that multiplies each token's advantage."""

    slots = ("gate",)
    given = ("ratio", "advantage")
    offers = ("view",)
    off_policy: ClassVar[bool] = False  # it acts on ratios other than 1 alone: never on policy, before the first update


class Aggregate(OfObjective):
    """How the loss averages over tokens and rows. Its function returns the weight of each token of a step."""

    slots = ("aggregate",)
    given = ("batch",)
    offers = ("max_new",)


class Selector(OfObjective):
    """Which tokens: to train, to treat as a case, or to add a term to. Its function returns true or false for each."""

    slots = ("over", "keep")
    given = ("view",)


class Correction(OfObjective):
    """Correction for sampling by another distribution than pi_old. Its function returns a weight for each token."""

    slots = ("correct",)
    given = ("view",)


class WholeLoss(OfObjective):
    """A loss that replaces ratio, gate and advantage. Its function returns one number, already divided by its count."""

    slots = ("whole",)
    given = ("view",)
    offers = ("weight",)


class Term(OfObjective, kw_only=True):
    """A term that is added to the policy loss. Its function returns the term for each token."""

    slots = ("regularise", "extra")
    given = ("view",)
    over: Selector | None = for_caller(None)  # the tokens that have the term; None: all
    mean: Literal["policy", "own"] = for_caller("policy")  # averaged like the policy loss, or over its own tokens


KINDS: tuple[type[Part], ...] = (
    *(Source, Asking, Collecting, Expansion, Rewarding, Curator, Forward, Credit, Shape, Remembering),
    *(Ratio, Gate, Aggregate, Term, Selector, Correction, WholeLoss, Condition),
)


def kind_of(part: Part | type[Part]) -> type[Part]:
    """The kind of a part: the base class that says which slot takes the part."""
    record = part if isinstance(part, type) else type(part)
    return next(kind for kind in KINDS if issubclass(record, kind))


def name_of(part: Part | type[Part]) -> str:
    """The name of a part on the command line and in files: `shaped-by` for the class `ShapedBy`."""
    record = part if isinstance(part, type) else type(part)
    return record.known_as or _dashed(record.__name__)


@functools.cache
def _dashed(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def needed(part: Part | type[Part]) -> tuple[str, ...]:
    """The abilities that a policy must have for this part to work with it. A part that asks for the codec works with
    texts, and so does one that writes prompts, unless it says otherwise.
    """
    record = part if isinstance(part, type) else type(part)
    if record.needs is not None:
        return record.needs
    asked = inspect.signature(record.does).parameters if hasattr(record, "does") else ()  # an objective holds parts
    return ("texts",) if "codec" in asked or record.prompts is not Part.prompts else ()


def bind(part: Part, **offered: Any) -> Callable[..., Any]:
    """The part's function with the fields of the record filled in.

    Of the values that are offered, here and at each call, the function gets those that its signature names. So a part
    that needs the memory, the models or the tokenizer has an argument of that name, and other parts need not know.
    A reward may be made of other rewards: they come to its function as functions of the episodes. These functions get
    all that is offered here, also values for which the outer function does not ask.
    """
    function = type(part).does
    asked = inspect.signature(function).parameters
    values = {name: value for name, value in offered.items() if name in asked}
    fields = {field.name: getattr(part, field.name) for field in dataclasses.fields(part) if not _kept(field)}
    values |= {name: value for name, value in fields.items() if not _rewards(value)}
    inner = {name: _inner(value, offered) for name, value in fields.items() if _rewards(value)}

    def bound(*args: Any, **more: Any) -> Any:
        given = {name: value for name, value in more.items() if name in asked} | values
        return function(*args, **given | {name: _told(value, more) for name, value in inner.items()})

    bound.asked = frozenset(asked)  # type: ignore[attr-defined]
    return bound


def _rewards(value: Any) -> bool:
    """Whether the value of a field is a reward, or rewards."""
    return isinstance(value, Rewarding) or (isinstance(value, tuple) and any(map(_rewards, value)))


def _inner(value: Any, offered: dict[str, Any]) -> Any:
    """Rewards within a reward, as functions."""
    if isinstance(value, tuple):
        return tuple(_inner(item, offered) for item in value)
    return bind(value, **offered)


def _told(value: Any, more: Mapping[str, Any]) -> Any:
    """Rewards within a reward, as functions of the episodes alone."""
    if isinstance(value, tuple):
        return tuple(_told(item, more) for item in value)
    return functools.partial(value, **more)


def within(part: Part) -> Iterator[Rewarding]:
    """The rewards of which a reward is made, without those within them."""
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        yield from (one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Rewarding))


def _kept(field: dataclasses.Field[Any]) -> bool:
    return "kept" in field.metadata


def asks(bound: Callable[..., Any], name: str) -> bool:
    """Whether a bound function has an argument of this name."""
    return name in bound.asked  # type: ignore[attr-defined]


def parts_of(record: Any) -> Iterator[Part]:
    """All parts in a mechanism, a rule or a tuple of these, including the parts within parts."""
    return iter(_gathered(record, []))


def concerned(record: Any, problem: Problem) -> Iterator[Part]:
    """As `parts_of`, without the parts that have nothing to do with answers to this problem, and those within them."""
    return iter(_gathered(record, [], problem))


_PLAIN = frozenset({bool, int, float, str, type(None)})  # of half of a recipe's fields, which hold no part


def _gathered(record: Any, found: list[Part], problem: Problem | None = None) -> list[Part]:
    if isinstance(record, tuple):
        for item in record:
            _gathered(item, found, problem)
    elif (names := _names(type(record))) is not None:
        if isinstance(record, Part):
            if problem is not None and not record.concerns(problem):
                return found
            found.append(record)
        for name in names:
            if type(value := getattr(record, name)) not in _PLAIN:
                _gathered(value, found, problem)
    return found


@functools.cache
def _names(kind: type) -> tuple[str, ...] | None:
    """The fields of a record of this type; None if its values are no records."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None
