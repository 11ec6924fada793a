"""Static tables and files: chunks, and what reads and writes them."""
