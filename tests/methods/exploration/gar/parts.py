"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ALONG = {"expand:prove-fused": ("source:fuse-pairs",)}
BUSY = ("expand:prove-fused", "curate:provable")
CHOOSES = {"gar": "groups"}
OF_ITS_OWN = {"reward:fusion": "verdicts of the answers to a theorem"}
WITHOUT_VERDICT = {"reward:fusion": "verdicts on answers to theorems that the policy posed"}
