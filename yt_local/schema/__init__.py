"""Schemas of tables, and the values of their columns."""
