"""Files of rows as tasks: reading them, finding question and answer, putting several together."""
