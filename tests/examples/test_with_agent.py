"""The comment service beside a playground: its queue is one that the agent watches, its cluster goes by a name."""

from __future__ import annotations

from pathlib import Path

import pytest
from yt.wrapper import YtClient

from examples.comment_service.tables import EVENT_PARTITION_COUNT, event_partition
from tests.e2e.playground import SOURCES, eventually, get_agent_attribute, running
from tests.examples.comment_world import DIRECTORY, TABLES
from tests.examples.test_create_tables import ask, started
from yt_local.testing import CLIENT_CONFIG


@pytest.mark.slow
def test_the_agent_says_how_many_comments_the_consumer_has_not_read(tmp_path: Path) -> None:
    with running(tmp_path) as playground:
        created = playground.shell(
            f"cd {SOURCES}; python -m examples.comment_service.create_tables --meta_cluster pythia --path {DIRECTORY}"
        )
        assert created.returncode == 0, created.stderr
        with started(playground.clusters["pythia"], tmp_path) as url:
            first = ask(f"{url}/post_comment", {"user": "ann", "content": "hello"})
            for _ in range(2):
                answer = {"user": "bob", "content": "hi", "topic_id": first["topic_id"], "parent_path": "0"}
                ask(f"{url}/post_comment", answer)

        client = YtClient(playground.clusters["pythia"], config=CLIENT_CONFIG)
        expected = [0] * EVENT_PARTITION_COUNT

        def check_unread(count: int) -> None:
            expected[event_partition(first["topic_id"])] = count
            queues = get_agent_attribute(client, f"{TABLES.comment_events_consumer}/@queue_consumer_partitions")
            assert [item["unread_row_count"] for item in queues[f"pythia:{TABLES.comment_events}"]] == expected

        eventually(lambda: check_unread(3))
        client.advance_queue_consumer(
            TABLES.comment_events_consumer, TABLES.comment_events, event_partition(first["topic_id"]), None, 2
        )
        eventually(lambda: check_unread(1))
