"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"expand:fork-attended": {"gap": 1, "apart": 1}, "remember:adapt-batch": {"limit": 2.0}}

IDLE = {"expand:fork-attended": {"places": 0}, "remember:adapt-batch": {}, "expand:draw-more": {}}
KEEPS = {"remember:adapt-batch": "batch-size"}
