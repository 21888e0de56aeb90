"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TAUGHT = ("hpt",)

ALONG = {"curate:switch-to-expert": ("ask:expert",)}

IDLE = {"curate:switch-to-expert": {}}
