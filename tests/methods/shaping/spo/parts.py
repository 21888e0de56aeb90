"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"source:uncertain": {"size": 1}}

IDLE = {"ask:probe": {"num": 0}, "remember:track-values": {}}
KEEPS = {"remember:track-values": "values"}
