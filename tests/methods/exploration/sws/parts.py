"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"source:with-synthesised": {"size": 1, "added": 2}}

IDLE = {"remember:keep-curves": {}}
KEEPS = {"remember:keep-curves": "curves"}
