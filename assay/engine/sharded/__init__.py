"""A parameter set over several processes: a rank holds a share of every tensor, and the driver holds the objective."""
