"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("expand:criticise",)
SMALLER = {"cft-1": "critiques are asked for in a number of their own"}
