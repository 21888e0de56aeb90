"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"ask:first-branches": {"levels": 2, "depth": 2, "least": 1}, "expand:grow-branches": {"levels": 2}}

ALONG = {"expand:grow-branches": ("ask:first-branches",), "ask:first-branches": ("expand:grow-branches",)}

BUSY = ("ask:first-branches", "expand:grow-branches", "curate:edges")
LAST = {"ask:first-branches": "leaves alone what is answered already"}
