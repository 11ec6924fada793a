"""Static exports: what is asked for, what is due, and how far they are."""
