"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

SMALL = {"expand:fork-at-replies": {"total": 5}}

IDLE = {"expand:fork-at-replies": {"total": 4}}
ROUNDS = {"arpo": {"group_size": 4, "talks": True}}
