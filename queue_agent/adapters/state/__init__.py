"""The state tables and the dynamic configuration on a cluster."""
