"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"curate:varied": {"beta": 0.0}, "remember:keep-deviation": {}}
GOES_ON = {"reward:reference-probability": "an answer without a reference has no such reward"}
KEEPS = {"remember:keep-deviation": "deviation"}
