"""One file a method: `PROXY`, the experiment of its entry at the size of a laptop."""
