"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"remember:level-rates": {}}
ALONG = {"source:difficulty-mix": ("remember:level-rates",)}
KEEPS = {"remember:level-rates": "level-rates"}
