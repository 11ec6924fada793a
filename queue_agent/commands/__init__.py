"""What people do with agents and clusters from a terminal, apart from arguments and exit codes."""
