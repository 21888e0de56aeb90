"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALLER = {"acereason": "its first stages ask less often than the last ones"}
