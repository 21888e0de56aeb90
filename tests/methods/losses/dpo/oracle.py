"""The coefficients are worked out in a test beside this."""

TESTED = {
    "dpo": "test_dpo_by_hand",
}
