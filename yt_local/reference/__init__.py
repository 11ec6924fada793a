"""The reference of the commands, as a page of the documentation."""
