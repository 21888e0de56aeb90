"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

BUFFERS = {"rlep": 4}  # 512 of 3072

IDLE = {"ask:replay": {"num": 0}, "remember:keep-successes": {}}
KEEPS = {"remember:keep-successes": "successes"}
BARE = {"remember:keep-successes": {}}
