"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"collect:first-draw": {"most": 2}, "expand:adaptive-refill": {"most": 2}}

ALONG = {"collect:first-draw": ("remember:track-mixed",), "expand:adaptive-refill": ("remember:track-mixed",)}

IDLE = {
    "collect:first-draw": {"most": 1},
    "expand:adaptive-refill": {"most": 1},
    "remember:track-mixed": {},
}
KEEPS = {"remember:track-mixed": "mixed-share"}
