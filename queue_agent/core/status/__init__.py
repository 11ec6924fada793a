"""Everything seen, in the forms in which it is published and kept."""
