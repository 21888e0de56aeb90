"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

JUDGED = {"reward:rated-by": ("judgements", "meta", "2")}

TEXTS = {"RatedBy.role": "a model, a role or a store of the recipe"}
