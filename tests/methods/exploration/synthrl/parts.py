"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TEST = {"checks": 2, "sure": 0, "least": 1}

SMALL = {
    "source:with-evolved": {"size": 1},
    "expand:evolve": {**TEST, "attempts": 1},
    "remember:keep-evolved": TEST,
}

IDLE = {"expand:evolve": {"checks": 4, "sure": 5}, "remember:keep-evolved": {}}
KEEPS = {"remember:keep-evolved": "evolved"}
