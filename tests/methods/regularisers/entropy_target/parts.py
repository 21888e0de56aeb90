"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

HERE_AS = {"entropy-bonus": "entropy-target"}

BUSY = ("remember:adapt-entropy",)
KEEPS = {"remember:adapt-entropy": "entropy"}
