"""Trimming: the plan, the last look at the cluster, the trim, and its journal."""
