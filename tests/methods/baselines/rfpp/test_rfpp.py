"""Both recipes are found by the names of the paper."""

import pytest

from assay.known import recipe


@pytest.mark.parametrize("name", ["REINFORCE++", "reinforce++"])
def test_the_name_of_the_paper(name: str) -> None:
    assert recipe(name).name == "rfpp" and recipe(f"{name}-Baseline").name == "rfpp-baseline"
