"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"ask:partial-solution": {"least": 1}}

IDLE = {
    "ask:cut-anywhere": {"share": 0.0},
    "ask:partial-solution": {"percent": 0.0},
}
HELPED = {"ask:cut-anywhere": True, "ask:partial-solution": True}
