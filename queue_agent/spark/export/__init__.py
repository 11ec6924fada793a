"""Jobs that keep the rows of queues in Parquet files and in static tables: each row once, and provably all of them."""
