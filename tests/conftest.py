"""For all tests: properties are judged by their truth, not by the speed of a busy machine; run folders to write in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from record_runs import IDENTITY

from assay.record import RunFolder

settings.register_profile("assay", deadline=None)
settings.load_profile("assay")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a run with spaces, ümläuts\nand a newline"


@pytest.fixture
def run(path: Path) -> Iterator[RunFolder]:
    with RunFolder.create(path, identity=IDENTITY, document={"command": ["assay", "train"]}) as run:
        yield run
