"""The coefficients are worked out in a test beside this."""

TESTED = {
    "luffy": "test_luffy_by_hand",
}
