"""Queues as one pass sees them."""
