"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ENDPOINTS = {"reward:judged-rules": {}}
COLUMNS = {"soft": ["It is a tree."]}
