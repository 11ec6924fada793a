"""Consumers as one pass sees them, and their progress in their queues."""
