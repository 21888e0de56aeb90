"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUSY = ("curate:unsolved-groups",)
LATE = {"credit:virtual-best": (3, "must be the highest possible reward")}
