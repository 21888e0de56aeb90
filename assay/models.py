"""The parameter sets of a run by name, and who plays which role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.engine.interface import Engine
    from assay.scale import Model


@dataclass(frozen=True)
class Models:
    """`models["reference"]` is a parameter set; `models.play("proposer")` is the one that plays a role."""

    engines: Mapping[str, Engine]
    roles: Mapping[str, str]  # role -> name of the parameter set
    specs: Mapping[str, Model] = field(default_factory=dict)  # what the recipe says of its sets
    starts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # states before the first step, if needed

    def __getitem__(self, name: str) -> Engine:
        return self.engines[name]

    def __contains__(self, name: str) -> bool:
        return name in self.engines

    def __iter__(self) -> Iterator[str]:
        return iter(self.engines)

    @property
    def follows(self) -> dict[str, str]:
        """Name of a set -> of the one whose weights it takes over from time to time."""
        return {name: spec.follows for name, spec in self.specs.items() if spec.follows}

    def leaders(self, name: str) -> list[str]:
        """Whom it follows, whom that one follows, and so on."""
        found: list[str] = []
        while (name := self.follows.get(name, "")) and name not in found:
            found.append(name)
        return found

    def play(self, role: str) -> Engine:
        return self.engines[self.roles[role]]

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Inside, those that play a role go on from what they ran before, where a request begins like others."""
        with ExitStack() as stack:
            for name in dict.fromkeys(self.roles.values()):
                stack.enter_context(self.engines[name].keeping())
            yield

    def reference(self, role: str) -> Engine:
        """What a role is kept near to: `NAME-reference` of the set that plays it, or the one `reference` of all."""
        own = f"{self.roles[role]}-reference"
        return self.engines[own if own in self.engines else "reference"]
