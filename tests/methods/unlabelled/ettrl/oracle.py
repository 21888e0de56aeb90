"""The coefficients are worked out in a test beside this."""

TESTED = {
    "ettrl": "test_by_hand",
}
