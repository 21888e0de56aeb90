"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"ask:heated": {}, "remember:heat-to-entropy": {"rate": 0.0}}
KEEPS = {"remember:heat-to-entropy": "heat"}
