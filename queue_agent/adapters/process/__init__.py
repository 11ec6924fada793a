"""What the process itself has: a clock, log lines, a build."""
