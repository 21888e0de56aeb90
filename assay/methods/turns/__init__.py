"""Turns: credit for the turns of an answer in a world, and recipes for searching and for computing with tools."""

METHODS = (
    "gigpo",
    "r1_searcher",
    "asearcher",
    "retool",
    "verltool",
    "sr_scientist",
)
