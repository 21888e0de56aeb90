"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

COMPONENTS = {"azr": {"phases": ("nothing", "policy by policy gradient and proposer")}}  # the first seeds a pool

SMALL = {"source:pose-seeds": {"size": 1}}

ALONG = {"expand:solve-posed": ("source:pose",)}

BUSY = ("expand:solve-posed",)
OF_ITS_OWN = {"reward:learnability": "verdicts of probes; `lost` says how one without a verdict counts"}
