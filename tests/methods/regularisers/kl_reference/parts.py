"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

HERE_AS = {"kl-estimators": "kl-reference", "kl-anchor": "kl-reference"}
