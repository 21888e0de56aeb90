"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

OPEN = ("ttrl",)

OPEN_FILE = {"ttrl": 0}

IDLE = {"curate:first-answers": {"count": 4}}
