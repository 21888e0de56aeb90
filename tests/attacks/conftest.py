"""A sandbox of each level that this machine holds, of each user that it can have, and canaries around it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from canaries import Canaries
from open_folders import open_folder
from users import WHO, Elsewhere, Who, cannot

from assay.sandbox import Sandbox, probed
from assay.sandbox.levels import LEVELS
from assay.sandbox.limits import Level

PLACES = [(level, who) for who in WHO for level in LEVELS]


def placed(level: Level, who: Who) -> Iterator[Sandbox]:
    if said := cannot(who):
        pytest.skip(f"{level} of {who}: {said}")
    found = probed(level)
    if not found.holds:
        pytest.skip(f"{level} does not hold here: {'; '.join(found.problems)}")
    with Sandbox(level, count=2) if who == "this user" else Elsewhere(level, who) as one:
        yield one


@pytest.fixture(
    scope="package",
    params=[
        pytest.param((level, who), id=f"{level} {who}", marks=[] if who == "this user" else pytest.mark.deep)
        for level, who in PLACES
    ],
)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of each level; in the long tests, also those of other users."""
    yield from placed(*request.param)


@pytest.fixture(
    scope="package",
    params=[
        pytest.param(place, id=" ".join(place), marks=pytest.mark.deep if place == ("L2", "a user") else [])
        for place in PLACES
    ],
)
def every_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of each level and each user, for tests that take a moment.

    What L2 denies a user in groups it denies one without, so that one is left to the long tests.
    """
    yield from placed(*request.param)


@pytest.fixture(scope="package")
def canaries() -> Iterator[Canaries]:
    with open_folder() as folder:
        (folder / "canaries").mkdir()
        found = Canaries(folder / "canaries")
        yield found
        found.close()
