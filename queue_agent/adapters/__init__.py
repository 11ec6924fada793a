"""One library each, behind a port."""
