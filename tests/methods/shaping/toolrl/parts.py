"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TEXTS = {"CallMatch.score": "a reward, a score, a tag or a metric of the run's records"}
