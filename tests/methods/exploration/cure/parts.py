"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {"curate:own-tokens": ("expand:fork",)}

IDLE = {"curate:own-tokens": {}}
ROUNDS = {"cure": {}}
