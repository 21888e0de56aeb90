"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BRINGS = {"spec-rl": ("`ask` speculate", "`forwards` distributions", "`remember` drafts")}

SMALL = {"ask:speculate": {"residual": False}}

IDLE = {"remember:drafts": {}}

BUSY = ("ask:speculate",)
KEEPS = {"remember:drafts": "drafts"}
