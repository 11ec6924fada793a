"""Who is who, and who may do what."""
