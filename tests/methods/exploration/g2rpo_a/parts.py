"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"ask:guide-answers": {"share": 0.0}, "remember:adapt-guidance": {}}
KEEPS = {"remember:adapt-guidance": "guidance"}
