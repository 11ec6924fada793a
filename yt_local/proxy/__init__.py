"""The proxies of a cluster, and what both ways in have in common."""
