"""Verdicts on consumers: what they lost, whether they read as usual, and how long until damage."""
