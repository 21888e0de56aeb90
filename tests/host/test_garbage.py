"""Few collections of garbage inside a run, and what a caller set before it again behind it."""

from __future__ import annotations

import gc

import pytest

from assay.host.garbage import YOUNG, few_collections


def test_what_exists_is_left_alone_inside_and_known_again_behind() -> None:
    before = gc.get_threshold()
    with pytest.raises(KeyError), few_collections():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() == (YOUNG, *before[1:])
        raise KeyError
    assert gc.get_freeze_count() == 0
    assert gc.get_threshold() == before


def test_circles_of_new_objects_are_still_collected() -> None:
    with few_collections():
        circle: list[object] = []
        circle.append(circle)
        del circle
        assert gc.collect() > 0
