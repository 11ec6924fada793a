"""Passes of consumers."""
