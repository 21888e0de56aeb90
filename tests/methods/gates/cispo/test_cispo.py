"""What the records say of the paper."""

from assay.lab import papers


def test_its_paper_has_no_reward_of_its_own() -> None:
    """The punishment is DAPO's, from which the recipe starts."""
    (found,) = papers.find("MiniMax-M1")
    assert found.rewards == ()
