"""Side-by-side measurements against other systems. Run as modules from the repository root; see README.md here."""
