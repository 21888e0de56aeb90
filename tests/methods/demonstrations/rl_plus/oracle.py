"""The coefficients are worked out in a test beside this."""

TESTED = {
    "rl-plus": "test_rl_plus_by_hand",
}
