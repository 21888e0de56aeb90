"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TEXTS = {"Partition.model": "a model, a role or a store of the recipe"}
