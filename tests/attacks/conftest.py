"""A sandbox of each level that this machine holds, and canaries around it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from canaries import Canaries

from assay.sandbox import Sandbox, probed
from assay.sandbox.levels import LEVELS


@pytest.fixture(scope="package", params=LEVELS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    found = probed(request.param)
    if not found.holds:
        pytest.skip(f"{request.param} does not hold here: {'; '.join(found.problems)}")
    with Sandbox(request.param, count=2) as one:
        yield one


@pytest.fixture(scope="package")
def canaries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canaries]:
    folder = tmp_path_factory.mktemp("canaries")
    for above in folder.parents:
        if above.stat().st_mode & 0o005 != 0o005 and above.stat().st_uid == folder.stat().st_uid:
            above.chmod(
                above.stat().st_mode | 0o005
            )  # else the modes of folders, and no layer, would keep programs out
    found = Canaries(folder)
    yield found
    found.close()
