"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"source:pose-seeds": {"size": 1}}

ALONG = {"expand:solve-posed": ("source:pose",), "remember:admit-posed": ("source:pose",)}

IDLE = {"remember:admit-posed": {}}

BUSY = ("ask:as-role", "expand:solve-posed")
OF_ITS_OWN = {"reward:learnability": "verdicts of probes; `lost` says how one without a verdict counts"}
