"""Reward functions that users bring: found by name, run in processes that can be killed, and their results checked."""
