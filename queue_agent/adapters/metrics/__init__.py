"""Metrics: what there is, and how it is counted and written."""
