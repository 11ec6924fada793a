"""Replicated tables and their replicas."""
