"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"ask:first-split": {"fewest": 2, "most": 3, "depth": 2, "least": 1}}

ALONG = {"expand:widen": ("ask:first-split",), "ask:first-split": ("expand:widen",)}

BUSY = ("ask:first-split", "expand:widen")
LAST = {"ask:first-split": "leaves alone what is answered already"}
