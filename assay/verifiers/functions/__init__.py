"""Reward functions that people bring: found by name, run in processes that can be killed, answers checked."""
