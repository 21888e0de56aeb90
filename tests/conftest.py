"""For all tests: properties are judged by their truth, not by the speed of a busy machine; run folders to write in."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_cases import KINDS, Default
from hypothesis import Phase, settings
from record_runs import IDENTITY

from assay.record import RunFolder

settings.register_profile("assay", deadline=None)
settings.register_profile("mutants", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))
settings.load_profile("assay")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The cases that `thin` leaves out of the fast tests are slow ones."""
    for item in items:
        thin = item.get_closest_marker("thin")
        if thin is not None and zlib.crc32(item.name.encode()) % thin.args[0]:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs a test on each kind of engine."""
    monkeypatch.setattr(Default, "kind", request.param)
    return request.param


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a run with spaces, ümläuts\nand a newline"


@pytest.fixture
def run(path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(path, identity=IDENTITY, document={"command": ["assay", "train"]}) as run:
        yield run
