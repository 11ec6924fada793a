"""The tables and the queue of the service: names, schemas, paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Schema = Sequence[Mapping[str, str]]

EVENT_PARTITION_COUNT: Final = 4
"""Partitions of the queue; events of one topic are all in one of them."""

TOPIC_COMMENTS_SCHEMA: Final[Schema] = (
    {"name": "topic_id", "type": "string", "sort_order": "ascending"},
    {"name": "parent_path", "type": "string", "sort_order": "ascending"},
    {"name": "comment_id", "type": "uint64"},
    {"name": "parent_id", "type": "uint64"},
    {"name": "user", "type": "string"},
    {"name": "create_time", "type": "uint64"},
    {"name": "update_time", "type": "uint64"},
    {"name": "content", "type": "string"},
    # In a lock group of its own: whoever looks at a comment does not get in the way of somebody who edits it.
    {"name": "views_count", "type": "int64", "aggregate": "sum", "lock": "views"},
    {"name": "deleted", "type": "boolean"},
)

USER_COMMENTS_SCHEMA: Final[Schema] = (
    {"name": "hash", "type": "uint64", "sort_order": "ascending", "expression": "farm_hash(user)"},
    {"name": "user", "type": "string", "sort_order": "ascending"},
    {"name": "topic_id", "type": "string", "sort_order": "ascending"},
    {"name": "parent_path", "type": "string", "sort_order": "ascending"},
    {"name": "update_time", "type": "uint64"},
)

TOPICS_SCHEMA: Final[Schema] = (
    {"name": "topic_id", "type": "string", "sort_order": "ascending"},
    {"name": "update_time", "type": "uint64"},
    {"name": "comment_count", "type": "uint64"},
)

COMMENT_EVENTS_SCHEMA: Final[Schema] = (
    {"name": "topic_id", "type": "string"},
    {"name": "parent_path", "type": "string"},
    {"name": "comment_id", "type": "uint64"},
    {"name": "parent_id", "type": "uint64"},
    {"name": "user", "type": "string"},
    {"name": "create_time", "type": "uint64"},
    {"name": "content", "type": "string"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
)


@dataclass(frozen=True, slots=True)
class Tables:
    """Paths of everything in one directory."""

    directory: str

    @property
    def topic_comments(self) -> str:
        """Comments, by topic and path in its tree."""
        return f"{self.directory}/topic_comments"

    @property
    def user_comments(self) -> str:
        """Index: which comments a user has written."""
        return f"{self.directory}/user_comments"

    @property
    def topics(self) -> str:
        """Index: when topics were last updated; also how many comments they have, which numbers the next one."""
        return f"{self.directory}/topics"

    @property
    def comment_events(self) -> str:
        """Queue: every comment that is posted."""
        return f"{self.directory}/comment_events"

    @property
    def comment_events_consumer(self) -> str:
        """Consumer of the queue, registered as vital."""
        return f"{self.directory}/comment_events_consumer"

    @property
    def comment_events_producer(self) -> str:
        """Producer whose sessions write the queue."""
        return f"{self.directory}/comment_events_producer"

    @property
    def schemas(self) -> Mapping[str, Schema]:
        """Schemas of the sorted tables, by path."""
        return {
            self.topic_comments: TOPIC_COMMENTS_SCHEMA,
            self.user_comments: USER_COMMENTS_SCHEMA,
            self.topics: TOPICS_SCHEMA,
        }

    @property
    def paths(self) -> Sequence[str]:
        """All of them, sorted tables first."""
        return (
            *self.schemas,
            self.comment_events,
            self.comment_events_consumer,
            self.comment_events_producer,
        )


def event_partition(topic_id: str) -> int:
    """Partition for the events of a topic: the topic's guid is random, and so is its beginning."""
    return int(topic_id.partition("-")[0], 16) % EVENT_PARTITION_COUNT


def replica_path(path: str, replica_index: int) -> str:
    """Where a replica of a table is; unlike the table, so that one cluster may have both, and several replicas."""
    return f"{path}_replica_{replica_index}"
