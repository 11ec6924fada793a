"""What every room of a cluster needs: time, ids, turns, budgets, faults, and a log of requests."""
