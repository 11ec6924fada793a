"""Figures about speed, each printed next to a baseline of the same run."""
