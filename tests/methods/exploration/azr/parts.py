"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {"expand:solve-posed": ("source:pose",)}

BUSY = ("expand:solve-posed",)
OF_ITS_OWN = {"reward:learnability": "verdicts of probes; `lost` says how one without a verdict counts"}
