"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"expand:rewrite": {"hard": -1.0, "medium": -1.0}}
OF_ITS_OWN = {"reward:accuracy-gain": "verdicts of answers; those of ours that failed are left out"}
