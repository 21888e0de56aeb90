"""What people look at: the report of a run, its model card, tables of what it came to."""
