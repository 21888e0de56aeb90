"""The coefficients are worked out in a test beside this."""

TESTED = {
    "hi-grpo": "test_advantages_by_hand",
    "hi-grpo-apart": "test_advantages_by_hand",
}
