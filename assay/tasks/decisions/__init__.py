"""Problems whose answers have a cost: every valid answer is worth something, and a cheaper one more.

A verdict of theirs has the score `COST`, and the score `GAP`: by which share it is above the cost of a good answer.
"""

DECISIONS = "decisions"  # the domain of these tasks
COST = "cost"
GAP = "cost-gap"  # no reward function of a user can have this name
