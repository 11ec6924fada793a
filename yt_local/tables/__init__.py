"""Tables: dynamic and static ones, queries, replicas."""
