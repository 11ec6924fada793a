"""The agents of a stage: who leads what, and for how long."""
