"""How far a queue may be trimmed, what holds it back, and whether that still holds."""
