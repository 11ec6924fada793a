"""Being one of the agents of a stage."""
