"""Sweeps: one test that goes over everything that is registered, and lists all that fail."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any


def over(*cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """A check of one case becomes a test of all of them; of several lists, of every combination.

    @over(RECIPES)
    def test_every_recipe_explains_itself(name: str) -> None: ...
    """

    def made(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            failed = []
            for case in itertools.product(*cases):
                try:
                    check(*case)
                except Exception as error:
                    failed.append(f"{', '.join(map(str, case))}: {type(error).__name__}: {error}")
            assert not failed, f"{len(failed)} fail\n" + "\n".join(failed)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return made
