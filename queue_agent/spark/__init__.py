"""PySpark on queues: `format("yt")` for reading and writing, in batches and as a stream."""

from __future__ import annotations

from queue_agent.spark.session import register, spark_session

__all__ = ["register", "spark_session"]
