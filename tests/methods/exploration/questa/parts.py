"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TAUGHT = ("questa",)

GROWS = {
    "ask:partial-solution": [({"percent": 50.0, "least": 1}, " [5+3=1,]"), ({"percent": 50.0, "least": 7}, "")],
    "ask:cut-anywhere": [({}, " [5+3=1,1*2=2#2]")],
}  # half of 13 characters are 6

SMALL = {"ask:partial-solution": {"least": 1}}

IDLE = {
    "ask:cut-anywhere": {"share": 0.0},
    "ask:partial-solution": {"percent": 0.0},
}
HELPED = {"ask:cut-anywhere": True, "ask:partial-solution": True}
