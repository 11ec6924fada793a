"""Rows of dynamic tables: brought to the order of their columns, computed, and locked."""
