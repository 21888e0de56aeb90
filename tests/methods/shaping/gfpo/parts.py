"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {
    "curate:filtered": {"keep": 2},
    "curate:filtered-by-difficulty": {"hard": 3, "medium": 2, "easy": 1, "warmup": 1},
}

IDLE = {
    "curate:filtered": {"keep": 4},
    "curate:filtered-by-difficulty": {"hard": 4, "medium": 4},
    "remember:track-difficulty": {},
}
KEEPS = {"remember:track-difficulty": "difficulty"}
CHOOSES = {"gfpo": "rows", "gfpo-efficiency": "rows", "gfpo-adaptive": "rows"}
