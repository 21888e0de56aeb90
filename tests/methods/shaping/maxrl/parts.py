"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

LATE = {"credit:mean-normalised": (2, "needs rewards of 0 or more")}
