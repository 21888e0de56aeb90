"""The coefficients are worked out in a test beside this."""

TESTED = {
    "rapid": "test_rapid_by_hand",
}
