"""Bridges to other systems: what both compute of the same numbers is compared. Each system lives in an environment of
its own, and the two sides speak by files.
"""
