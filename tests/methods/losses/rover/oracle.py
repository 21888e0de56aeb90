"""The coefficients are worked out in a test beside this."""

TESTED = {
    "rover": "test_rover",
}
