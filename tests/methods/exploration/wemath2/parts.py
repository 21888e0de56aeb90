"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

PICTURES = ("wemath2",)

SMALL = {"source:difficulty-graph": {"size": 1}}

IDLE = {"remember:climb": {}}
KEEPS = {"remember:climb": "climb"}
