"""Queue Agent for YTsaurus."""
