"""Reward functions, loaded and ready to be called: here, or in a process for each file."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.errors import ConfigError
from assay.verifiers.functions.calling import Asks, asks_of
from assay.verifiers.functions.naming import NAMELESS, RewardName, names, ready, source_digest
from assay.verifiers.functions.process import SECONDS, STILL, FunctionProcess


@dataclass(frozen=True)
class Function:
    """A reward function, loaded and ready to be called.

    Example:
        Function("accuracy", lambda completions, **columns: [1.0] * len(completions))
        load([parse("rewards.py:accuracy")])  # (Function("accuracy", <its process>, ...),)
    """

    name: str  # in metrics and rollouts
    call: Callable[..., Any] | FunctionProcess  # the function itself, or the process that it runs in
    weight: float = 1.0  # in the sum of rewards
    place: str = NAMELESS  # where it was loaded from
    digest: str = ""  # of its source file; "" if there is none
    signature: Asks | None = None  # the arguments that it asks for; None: read them off `call`

    def __str__(self) -> str:
        return f"the reward function '{self.name}' ({self.place})"

    @property
    def asks(self) -> Asks:
        """The arguments that the function asks for."""
        if self.signature is not None or isinstance(self.call, FunctionProcess):
            return self.signature or Asks()
        return asks_of(self.call)


def load(
    wishes: Sequence[RewardName],
    given: Mapping[str, Callable[..., Any]] | None = None,
    *,
    seconds: float = SECONDS,
    still: float = STILL,
) -> tuple[Function, ...]:
    """Loads the reward functions that are named. `given` has functions of the calling program, by name.

    Every other function's file or module is imported in a process of its own, which may take `seconds`. One that
    somebody stops is given up after `still` seconds.
    """
    here: dict[str, Function] = {}
    apart: dict[str, dict[str, RewardName]] = {}
    for name, wish in zip(names(wishes), wishes, strict=True):
        call = (given or {}).get(name)
        if call is None and wish.place == NAMELESS:
            raise ConfigError(
                f"the reward function '{name}' of this run was a Python object that has no file to load it from. "
                "Resume from Python with assay.resume(RUN, reward=FUNCTION), or put it into a file of its own."
            )
        if call is None:
            apart.setdefault(wish.place, {})[name] = wish
        else:
            call = ready(call, name)
            here[name] = Function(name, call, wish.weight, _spelled(wish), source_digest(wish, call))
    with contextlib.ExitStack() as opened:
        for source, theirs in apart.items():
            process = FunctionProcess(
                source, {name: wish.function for name, wish in theirs.items()}, seconds=seconds, still=still
            )
            opened.callback(process.close)
            for name, loaded in process.load().items():
                wish = theirs[name]
                here[name] = Function(name, process, wish.weight, _spelled(wish), loaded.digest, loaded.asks)
        opened.pop_all()
    return tuple(here[name] for name in names(wishes))


def _spelled(wish: RewardName) -> str:
    return str(dataclasses.replace(wish, weight=1.0))
