"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUFFERS = {"deepsearch": 6}  # 4096 of 16384

SMALL = {"ask:first-steps": {"width": 2, "depth": 2}}

ALONG = {
    "expand:search": ("ask:first-steps", "curate:backed-up"),
    "curate:backed-up": ("ask:first-steps", "expand:search"),
}

IDLE = {"ask:recall": {}, "remember:hold-solved": {}}

BUSY = ("ask:first-steps", "expand:search", "curate:backed-up")
