"""What this machine gives: files, processes, memory, the terminal, installed packages. Everything else may use it."""
