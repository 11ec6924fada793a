"""Formats of rows and values."""
