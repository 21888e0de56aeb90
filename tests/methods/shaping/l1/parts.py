"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

HERE_AS = {"len-l1": "l1-exact"}

USED_BY = {"ask:budget": ["l1-exact", "l1-max"]}

GROWS = {"ask:budget": [({"low": 8, "high": 120}, " [=120]")]}

BUSY = ("ask:budget",)
HELPED = {"ask:budget": False}
