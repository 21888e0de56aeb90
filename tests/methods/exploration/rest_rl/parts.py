"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"expand:own-beginnings": {"share": 0.0}}

TEXTS = {"OwnBeginnings.marks": "text that is compared with an answer, or shown to a model"}
