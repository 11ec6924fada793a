"""Passes of queues."""
