"""The command `queue-agent`."""
