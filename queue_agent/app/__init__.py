"""Puts an agent together: configuration to adapters, controllers and one task group."""
