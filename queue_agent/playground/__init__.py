"""Local clusters and agents together, to try everything on one machine."""
