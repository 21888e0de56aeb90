"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {"credit:role-baseline": ("remember:role-means",)}
IDLE = {"remember:role-means": {}}
KEEPS = {"remember:role-means": "role-means"}
