"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

OPEN = ("rgr-grpo", "rgr-grpo-printed")

SCORED = {"rgr-grpo": [["scored", "judge-rubric", "soft-overlong"]]}

BUSY = ("ask:all-but-one", "ask:taught-refinement", "expand:refine")
HELPED = {"ask:taught-refinement": True}
