"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALLER = {"deepscaler-len": "its first stage asks less often than the last one"}

TEXTS = {"LimitBinds.metric": "a reward, a score, a tag or a metric of the run's records"}
