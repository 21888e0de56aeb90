"""What the tests over all parts have to know of these; `tests/of_methods.py` says what it means."""

ROUNDS = {"cure": {}}
CHATS = ("cure",)

BUFFERS = {"cure": 5}  # 512 of 2596 are 4.7 of 24
