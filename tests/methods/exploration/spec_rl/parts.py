"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"ask:speculate": {"residual": False}}

IDLE = {"remember:drafts": {}}

BUSY = ("ask:speculate",)
KEEPS = {"remember:drafts": "drafts"}
