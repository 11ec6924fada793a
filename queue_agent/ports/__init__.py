"""What controllers need from the world; adapters implement it, tests may fake it."""
