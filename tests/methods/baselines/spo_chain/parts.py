"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"expand:continue-cuts": {"branches": 2}}

IDLE = {"expand:continue-cuts": {"branches": 0}}
