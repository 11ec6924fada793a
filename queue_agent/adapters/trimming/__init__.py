"""The journal of trims on a cluster."""
