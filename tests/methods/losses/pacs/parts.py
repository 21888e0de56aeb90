"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

REFUSED = {"train pacs --mechanism.objective.gate shaped": (78, "a loss of its own", "set whole to none")}
