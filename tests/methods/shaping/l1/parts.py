"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

GROWS = {"ask:budget": [({"low": 8, "high": 120}, " [=120]")]}

BUSY = ("ask:budget",)
