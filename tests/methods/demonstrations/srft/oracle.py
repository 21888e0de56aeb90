"""The coefficients are worked out in a test beside this."""

TESTED = {
    "srft": "test_srft_by_hand",
}
