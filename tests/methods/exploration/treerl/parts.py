"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {"curate:draw-leaves": ("expand:fork",)}

BUSY = ("curate:draw-leaves",)
ROUNDS = {"treerl": {}}
