"""The coefficients are worked out in a test beside this."""

TESTED = {
    "ipo": "test_ipo",
}
