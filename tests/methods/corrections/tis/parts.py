"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

REFUSED = {"train tis --mechanism.objective.anchor sampler": (78, "the same gap again", "anchor to old")}
