"""Consumers as one pass sees them, and how they get on with their queues."""
