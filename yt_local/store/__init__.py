"""Records of a cluster: in memory and in SQLite."""
