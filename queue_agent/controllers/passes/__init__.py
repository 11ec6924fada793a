"""What all passes are made of: loops, limits, and where errors come from."""
