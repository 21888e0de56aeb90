"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("ask:in-halves",)
NEEDS = {"j1": ("a model that reads English: --model",)}
