"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

HINTED = ("guide",)

TAUGHT = ("guide",)

SEEING_ROWS = {"gate:shaped-by": False}

GROWS = {"expand:retry-with-hint": [({}, " [5+3=1]")]}

IDLE = {"curate:take-turns": {}, "expand:retry-with-hint": {"share": 0.0}}
ANEW = {"guide": "a retry begins with the question"}

TEXTS = {"RatioQuantile.tag": "a reward, a score, a tag or a metric of the run's records"}
