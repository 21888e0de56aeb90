"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TAUGHT = ("seele",)

USED_BY = {"remember:keep-rate": ["seele"]}

GROWS = {"ask:begin-at-rate": [({}, "5+3=1,")], "expand:hint-rounds": [({}, "5+3=1,")]}  # beside the limit

IDLE = {"expand:hint-rounds": {"rounds": 1}, "remember:keep-rate": {}}

BUSY = ("ask:begin-at-rate",)
KEEPS = {"remember:keep-rate": "hint-rates"}
ROUNDS = {"seele": {"hints": True}}
