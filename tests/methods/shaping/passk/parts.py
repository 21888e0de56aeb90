"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

HERE_AS = {"shape-passk": "passk"}

REFUSED = {"train passk --mechanism.credit.k 9": (78, "cannot be drawn from 8", "credit.k to less")}

SMALL = {"credit:pass-k": {"k": 2}}
