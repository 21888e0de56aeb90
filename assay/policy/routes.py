"""The codec of policies that build routes: it reads coordinates out of a problem's compact words, and writes the
numbers of places. It knows no other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.errors import DataError
from assay.policy.codec import Wordless
from assay.types import Ids

END = 0  # the action that ends a route
_QUESTION = re.compile(r"[A-Za-z]+( [0-9]{1,4},[0-9]{1,4})+")
_ANSWER = re.compile(r"[0-9]{1,4}( [0-9]{1,4})*")


@dataclass(frozen=True)
class RouteCodec(Wordless):
    """Coordinates in, places out.

    codec = RouteCodec(places=128)
    codec.render("r 12,34 5,6 70,8")  # [12, 34, 5, 6, 70, 8]
    codec.decode([3, 1, 2, 0])        # "3 1 2"
    """

    whose = "a policy that builds routes"

    places: int  # the most places of a problem
    about: str = ""  # what decides what the network makes of the same numbers, beside its weights

    @property
    def end_ids(self) -> frozenset[int]:
        return frozenset({END})

    @property
    def vocab(self) -> int:
        return self.places + 1

    @property
    def identity(self) -> bytes:
        return f"routes {self.about}".encode()

    def render(self, prompt: Any) -> Ids:
        """The coordinates x, y of each place in turn."""
        if not isinstance(prompt, str) or _QUESTION.fullmatch(prompt) is None:
            raise DataError(
                f"a policy that builds routes reads the places of a routing problem in compact wording, such as "
                f"`r 12,34 5,6 70,8`, and not {str(prompt)[:60]!r}. Take a task such as tsp:20, or a language model."
            )
        numbers = [int(number) for number in re.findall(r"\d+", prompt)]
        if len(numbers) > 2 * self.places:
            raise DataError(f"the problem has {len(numbers) // 2} places, and the policy was made for {self.places}.")
        return np.array(numbers, np.int32)

    def encode(self, text: str) -> Ids:
        """The places of a route."""
        if not text:
            return np.zeros(0, np.int32)
        if _ANSWER.fullmatch(text) is None:
            raise DataError(f"a policy that builds routes writes places, such as `3 1 2`, and not {text[:60]!r}.")
        return np.array([int(number) for number in text.split(" ")], np.int32)

    def decode(self, ids: Iterable[int]) -> str:
        return " ".join(str(int(number)) for number in ids if number != END)
