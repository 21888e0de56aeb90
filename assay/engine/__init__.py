"""Where a parameter set runs: what the loop asks of an engine, and what the engines of this machine share."""
