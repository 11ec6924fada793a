"""The HTTP proxy."""
