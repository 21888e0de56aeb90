"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("curate:all-verified",)
