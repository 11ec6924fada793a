"""What reading and writing queues by PySpark costs, each figure beside its baseline of the same run."""
