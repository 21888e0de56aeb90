"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"ask:as-experts": {"experts": 2}}

ALONG = {"expand:gold-after-failure": ("ask:as-experts",), "curate:lessons": ("ask:as-experts",)}

IDLE = {"expand:gold-after-failure": {}, "curate:lessons": {}}

BUSY = ("ask:as-experts", "ask:taught-experts")
HELPED = {"ask:as-experts": False}
SMALLER = {"meml-grpo": "each expert has a share of the answers"}
