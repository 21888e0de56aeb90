"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"expand:hint-rounds": {"rounds": 1}, "remember:keep-rate": {}}

BUSY = ("ask:begin-at-rate",)
KEEPS = {"remember:keep-rate": "hint-rates"}
ROUNDS = {"seele": {"hints": True}}
