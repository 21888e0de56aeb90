"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"curate:mix-past": {"share": 0.0}, "remember:keep-past": {}}
FEWER = {"curate:mix-past": "groups of earlier steps train beside those that are wanted"}
KEEPS = {"remember:keep-past": "past"}
