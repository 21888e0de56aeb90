"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TAUGHT = ("r3", "r3-staged")

BUSY = ("ask:start-states",)
