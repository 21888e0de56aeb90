"""What people look at: the report of a run, its model card, and the table of its results."""
