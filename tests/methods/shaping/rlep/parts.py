"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

IDLE = {"ask:replay": {"num": 0}, "remember:keep-successes": {}}
KEEPS = {"remember:keep-successes": "successes"}
BARE = {"remember:keep-successes": {}}
