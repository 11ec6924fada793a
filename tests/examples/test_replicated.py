"""The comment service on replicated tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from examples.comment_service.create_tables import create_tables
from examples.comment_service.tables import replica_path
from tests.e2e.playground import eventually
from tests.examples.comment_world import DIRECTORY, TABLES, Time, check_nothing_is_half_there, serving
from yt_local.testing import LocalClusterSet


@pytest.mark.parametrize("replica_clusters", [("hume", "pythia"), ("pythia", "pythia")])
async def test_all_methods_work_on_replicated_tables(
    yt_clusters: Callable[..., LocalClusterSet], time: Time, replica_clusters: Sequence[str]
) -> None:
    clusters = yt_clusters("pythia", "hume")
    meta = clusters["pythia"].client
    for _ in range(2):
        create_tables(DIRECTORY, "pythia", replica_clusters, lambda name: clusters[name].client, force=True)

    def check_one_is_synchronous() -> None:
        for path in TABLES.schemas:
            replicas = meta.get(f"{path}/@replicas").values()
            assert sorted(item["mode"] for item in replicas) == ["async", "sync"]

    eventually(check_one_is_synchronous)
    async with serving(clusters["pythia"], time) as service:
        topic = await service.new_topic()
        await service.reply(topic, content="one")
        await service.reply(topic, content="two")
        assert (await service.post("edit_comment", topic_id=topic, parent_path="0/1", content="another")) == (200, {})
        assert (await service.post("delete_comment", topic_id=topic, parent_path="0/2")) == (200, {})
        await service.tree(topic)
        tree = await service.tree(topic, parent_path="0/1")
        assert [(item["content"], item["view_count"]) for item in tree] == [("another", 2)]
        last = (await service.get("last_user_comments", user="bob"))[1]
        assert [item["content"] for item in last] == ["another"]
        assert [item["topic_id"] for item in (await service.get("last_topics"))[1]] == [topic]
        assert (await service.post("post_comment", topic_id=topic, parent_path="0/9", content="x", user="x"))[0] == 404
    check_nothing_is_half_there(clusters["pythia"])

    def check_replicas_agree() -> None:
        counts = [
            list(clusters[name].client.select_rows(f"* from [{replica_path(TABLES.topics, index)}]"))
            for index, name in enumerate(replica_clusters)
        ]
        assert counts[0] == counts[1] != []

    eventually(check_replicas_agree)
