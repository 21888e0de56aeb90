"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

TAUGHT = ("bread",)

SMALL = {"expand:anchor-search": {"pieces": 3}}

ALONG = {"curate:on-anchor": ("expand:anchor-search",)}

IDLE = {"expand:anchor-search": {"probes": 0}, "curate:on-anchor": {}}
