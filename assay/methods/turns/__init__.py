"""Turns: credit for the turns of an answer in a world, and recipes for searching and for computing with tools."""

METHODS = ("gigpo",)
