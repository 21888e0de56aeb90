"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

COMPONENTS = {"azr": {"phases": ("nothing", "policy by policy gradient and proposer")}}  # the first seeds a pool

SMALL = {"source:pose-seeds": {"size": 1}}

ALONG = {"expand:solve-posed": ("source:pose",), "remember:admit-posed": ("source:pose",)}

IDLE = {"remember:admit-posed": {}}

BUSY = ("ask:as-role", "expand:solve-posed")
