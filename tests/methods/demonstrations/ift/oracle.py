"""The coefficients are worked out in a test beside this."""

TESTED = {
    "ift": "test_by_hand",
}
