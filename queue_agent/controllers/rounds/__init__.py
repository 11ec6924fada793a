"""Passes over all objects: of a cluster together, and of each that has changed."""
