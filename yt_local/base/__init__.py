"""What every room of a cluster needs: time, ids, turns, budgets."""
