"""The kinds of policy. One record says all that the other rooms must know of a kind: how it is loaded and stored, which
engine runs it, what it can do, and how large it is. They ask the record and never the network.

A record names its functions by the place where they stand and imports them at the first call, because a command that
only asks what a kind can do shall not wait for torch, and because engines stand in a higher room than policies.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay.errors import ConfigError
from assay.policy.hf_config import ARCHITECTURES, read_json

if TYPE_CHECKING:
    from assay.policy.codec import Codec
    from assay.policy.network import Network
    from assay.policy.policy import Policy
    from assay.policy.tokenizer import Tokenizer

Ability = Literal["texts", "adapters", "critics", "ranks", "servers", "shifts", "numbers"]
ABILITIES: dict[Ability, str] = {
    "texts": "reads and writes texts of any words: hints, messages, documents",
    "adapters": "is trained by a low-rank adapter beside its weights",
    "critics": "has a value head, so that a recipe with a critic can train it",
    "ranks": "is trained by several learners",
    "servers": "has its answers written by servers",
    "shifts": "lets its logits be read and shifted while it writes",
    "numbers": "observes numbers and chooses among a few actions",
}
"""What not every kind can do, in words that follow "a policy that"."""


@dataclass(frozen=True)
class Named:
    """A function by the place where it stands, as `module:name`. It is imported when it is first called."""

    place: str

    @property
    def function(self) -> Any:
        module, _, name = self.place.partition(":")
        return getattr(importlib.import_module(module), name)

    def __call__(self, *values: Any, **named: Any) -> Any:
        return self.function(*values, **named)


@dataclass(frozen=True)
class Kind:
    """A kind of policy.

    Example:
        kind = kind_in(folder)
        policy = kind.load(folder, dtype=torch.float32, device="cpu", allow_nonfinite=False)
        kind.engine(policy.network, "auto", "cpu", "fp32").engine  # the class that runs it
    """

    name: str
    about: str  # what it is, in words that follow "a policy that is"
    families: frozenset[str]  # `model_type` in config.json of its folders; empty: all that no other kind names
    abilities: frozenset[Ability]
    load: Named  # (folder, dtype=, device=, allow_nonfinite=) -> Policy: network and codec
    outline: Named  # (folder, here=) -> Policy on torch's meta device; here: whether the weights' files are there
    save: Named  # (policy, folder, weights=, dtype=, max_shard_bytes=, merge=): a folder that `load` reads
    files: Named  # (policy) -> the files of a checkpoint's folder beside the weights, by name
    size: Named  # (config.json as it was read) -> parameters, or None where they are not known before it is loaded
    engine: Named  # (network, the engine wished for, device, precision) -> Choice of an engine's class
    usual: str = ""  # the shape of its base, for a kind that is trained from random weights: NAME stands for NAME:SHAPE
    fresh: Named | None = None  # (shape, key=) -> Policy with random weights
    fitted: Named | None = None  # (shape, the numbers of a world) -> the shape for this world

    def can(self, ability: Ability) -> bool:
        return ability in self.abilities

    def require(self, *abilities: Ability, what: str, instead: str = "") -> None:
        """Refuses a policy of this kind for `what`, which needs the abilities."""
        for ability in abilities:
            if not self.can(ability):
                able = ", ".join(name for name, kind in KINDS.items() if kind.can(ability))
                raise ConfigError(
                    f"{what} needs a policy that {ABILITIES[ability]}, and this one is of the kind {self.name}: "
                    f"{self.about}. {instead or f'Take a policy of the kind {able}.'}"
                )


_PLAIN = {name: Named(f"assay.policy.plain_folder:{name}") for name in ("load", "outline", "save", "files", "size")}
"""How policies that read no words are stored."""

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            name="transformer",
            about="a language model that Assay's own engines run",
            families=frozenset(ARCHITECTURES),
            abilities=frozenset(ABILITIES) - {"numbers"},
            load=Named("assay.policy.model_folder:load_ours"),
            outline=Named("assay.policy.outline:outline_ours"),
            save=Named("assay.policy.language_folder:save"),
            files=Named("assay.policy.language_folder:files"),
            size=Named("assay.policy.hf_config:size"),
            engine=Named("assay.engine.choose:engine_of_ours"),
        ),
        Kind(
            name="foreign",
            about="a language model of another family, which the library transformers runs",
            families=frozenset(),
            abilities=frozenset({"texts", "adapters", "ranks", "servers"}),
            load=Named("assay.policy.model_folder:load_theirs"),
            outline=Named("assay.policy.outline:outline_theirs"),
            save=Named("assay.policy.language_folder:save"),
            files=Named("assay.policy.language_folder:files"),
            size=Named("assay.policy.foreign:size"),
            engine=Named("assay.engine.choose:engine_of_theirs"),
        ),
        Kind(
            name="pointer",
            about="it builds routes place by place and reads no words",
            families=frozenset({"assay-pointer"}),
            abilities=frozenset(),
            **_PLAIN,
            engine=Named("assay.engine.pointer.engine:engine_of"),
            usual="64x3",
            fresh=Named("assay.policy.plain_folder:fresh_pointer"),
        ),
        Kind(
            name="mlp",
            about="a multilayer perceptron over observations, which reads no words",
            families=frozenset({"assay-mlp"}),
            abilities=frozenset({"critics", "numbers"}),
            **_PLAIN,
            engine=Named("assay.engine.steps.engine:engine_of"),
            usual="64x64",
            fresh=Named("assay.policy.plain_folder:fresh_mlp"),
            fitted=Named("assay.policy.mlp:fitted"),
        ),
        Kind(
            name="tabular",
            about="a table with a row for each state, which reads no words",
            families=frozenset({"assay-tabular"}),
            abilities=frozenset({"critics", "numbers"}),
            **_PLAIN,
            engine=Named("assay.engine.steps.engine:engine_of"),
            usual="",
            fresh=Named("assay.policy.plain_folder:fresh_table"),
            fitted=Named("assay.policy.tabular:fitted"),
        ),
    )
}


def kind_of(policy: Policy | Network) -> Kind:
    """The kind of a policy, or of a network."""
    return KINDS[policy.kind]


def kind_named(family: Any) -> Kind:
    """The kind of a folder whose config.json says this `model_type`. A config.json without one is ours to refuse."""
    if not isinstance(family, str):
        return KINDS["transformer"]
    return next((kind for kind in KINDS.values() if family in kind.families), KINDS["foreign"])


def kind_in(folder: Path) -> Kind:
    """The kind of policy in a folder that holds all weights."""
    return kind_named(read_json(folder / "config.json").get("model_type"))


def words_of(codec: Codec) -> Tokenizer | None:
    """The codec as a tokenizer, if its policy reads and writes texts; None for others."""
    from assay.policy.tokenizer import Tokenizer

    return codec if isinstance(codec, Tokenizer) else None


def tokenizer_of(policy: Policy, what: str) -> Tokenizer:
    """The tokenizer of a policy. One that reads and writes no texts is refused for `what`."""
    words = words_of(policy.codec)
    if words is None:
        kind_of(policy).require("texts", what=what)
        raise ConfigError(f"{what} needs a policy with a tokenizer.")
    return words
