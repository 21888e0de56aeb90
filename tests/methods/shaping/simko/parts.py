"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SEEING_ROWS = {"gate:clip-likeliest": False}
