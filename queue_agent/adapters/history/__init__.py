"""The history on a cluster."""
