"""The parameter sets of a run by name, and which of them plays which role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.engine.interface import Engine
    from assay.scale import Model


@dataclass(frozen=True)
class Models:
    """The parameter sets of a run, each inside the engine that samples from it and trains it.

    models["reference"]      # the engine of the parameter set of this name
    models.play("proposer")  # the engine of the parameter set that plays this role
    """

    engines: Mapping[str, Engine]
    roles: Mapping[str, str]  # role -> name of the parameter set that plays it
    specs: Mapping[str, Model] = field(default_factory=dict)  # name -> the recipe's record of this parameter set
    restarts: frozenset[str] = frozenset()  # sets that a later stage puts back to their weights before the first step

    def __getitem__(self, name: str) -> Engine:
        return self.engines[name]

    def __contains__(self, name: str) -> bool:
        return name in self.engines

    def __iter__(self) -> Iterator[str]:
        return iter(self.engines)

    @property
    def follows(self) -> dict[str, str]:
        """Name of a parameter set -> name of the set whose weights are copied to it from time to time."""
        return {name: spec.follows for name, spec in self.specs.items() if spec.follows}

    def leaders(self, name: str) -> list[str]:
        """The chain of leaders: the set that `name` follows, then the set that this leader follows, and so on."""
        leaders: list[str] = []
        while (name := self.follows.get(name, "")) and name not in leaders:
            leaders.append(name)
        return leaders

    def play(self, role: str) -> Engine:
        """The engine of the parameter set that plays a role."""
        return self.engines[self.roles[role]]

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Inside this context, engines that play a role keep their keys and values (the KV cache) between calls.

        A request that begins with the same tokens as an earlier one then computes only the tokens after them.
        """
        with ExitStack() as stack:
            for name in dict.fromkeys(self.roles.values()):
                stack.enter_context(self.engines[name].keeping())
            yield

    def reference(self, role: str) -> Engine:
        """The reference model in the KL penalty of a role.

        This is `NAME-reference` if set NAME plays the role and has a reference of its own, else `reference`.
        """
        own = f"{self.roles[role]}-reference"
        return self.engines[own if own in self.engines else "reference"]
