"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"expand:nudge": {"writer": "solution", "share": 0.0}}
