"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TAUGHT = ("rlad",)

FORMERLY = ("unpaid",)

GROWS = {"ask:write-then-solve": [({}, " !")], "ask:teach-abstractions": [({}, " ?")]}

SMALL = {"ask:abstract": {"num": 2, "bare": 2}}

ALONG = {"expand:solve-with": ("ask:abstract",), "curate:helpful": ("ask:abstract", "expand:solve-with")}

IDLE = {"curate:helpful": {}, "curate:without-advantage": {}}

BUSY = (
    "ask:abstract",
    "ask:distilled",
    "ask:teach-abstractions",
    "ask:write-then-solve",
    "expand:solve-with",
)
