"""Dynamic tables: tablets, their rows, and transactions on them."""
