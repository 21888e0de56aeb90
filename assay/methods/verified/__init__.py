"""Verified: rewards by programs, queries, solvers and equations."""

METHODS = (
    "sirl",
    "sql_rlvr",
    "rstar_coder",
    "deepmath",
)
