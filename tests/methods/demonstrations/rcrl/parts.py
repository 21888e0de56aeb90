"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

GROWS = {"ask:conditioned": [({}, " [GOOD]")], "curate:label-steps": [({}, " [GOOD]")]}  # the longer label

ALONG = {"curate:label-steps": ("expand:complete-steps",)}

IDLE = {"expand:complete-steps": {"num": 0}}

BUSY = ("ask:conditioned", "curate:label-steps")
FEWER = {"curate:label-steps": "completions are drawn in groups, which do not train"}
HELPED = {"ask:conditioned": False}
