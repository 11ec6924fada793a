"""Keeping the state tables and the configuration up to date."""
