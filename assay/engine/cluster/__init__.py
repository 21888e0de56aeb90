"""Where the processes of a run are started: on this machine, or on the nodes of a Ray cluster."""
