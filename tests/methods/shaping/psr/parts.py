"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

HERE_AS = {"psr-nsr": "psr"}

BUSY = ("curate:one-sided",)
CHOOSES = {"psr": "rows", "nsr": "rows"}
FOUR = {"nsr": [0.0, None, 1.0, 0.0]}
