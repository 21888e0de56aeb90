"""The places where the processes of a run are started: this machine, or the nodes of a Ray cluster."""
