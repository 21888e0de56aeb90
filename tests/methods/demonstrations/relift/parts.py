"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TAUGHT = ("relift",)

SMALL = {"expand:study": {"size": 1}}

IDLE = {"expand:study": {}, "remember:hold-unsolved": {}}
