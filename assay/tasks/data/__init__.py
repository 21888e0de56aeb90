"""Data files as tasks: reads rows, finds question and answer in them, and joins several files to one set."""
