"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"source:hardest": {"size": 1}}

IDLE = {"remember:stage-rates": {}}
KEEPS = {"remember:stage-rates": "stage-rates"}
