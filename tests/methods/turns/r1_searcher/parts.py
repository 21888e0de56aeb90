"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SCORED = {"r1-searcher": [["scored", "turn-form"], ["scored", "called", "turn-form"]]}

REFUSED = {
    "train r1-searcher --task countdown:3 --dry-run": (78, "needs a world with the tool 'search' or 's'", "countdown"),
}
