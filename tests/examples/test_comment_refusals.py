"""The comment service when what is asked makes no sense, and when its cluster fails."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from yarl import URL

from tests.examples.comment_world import (
    TABLES,
    Service,
    StoppingTime,
    Time,
    ask,
    check_nothing_is_half_there,
    create,
    new_guid,
    rows_of,
    serving,
)
from yt_local.testing import LocalCluster, local_clusters

GUID = "1-2-3-4"


@pytest.fixture(scope="module")
def empty_cluster() -> Iterator[LocalCluster]:
    """A cluster with the tables, for tests that write nothing."""
    with local_clusters("local") as clusters:
        create(clusters["local"])
        yield clusters["local"]
        check_nothing_is_half_there(clusters["local"])
        assert rows_of(clusters["local"], TABLES.topics) == []


@pytest.fixture
async def empty_service(empty_cluster: LocalCluster, time: Time) -> AsyncIterator[Service]:
    async with serving(empty_cluster, time) as service:
        yield service


@pytest.mark.parametrize(
    ("method", "parameters", "culprit"),
    [
        ("post_comment", {"user": "ann"}, "content"),
        ("post_comment", {"content": "x"}, "user"),
        ("post_comment", {"content": "", "user": "ann"}, "content"),
        ("post_comment", {"content": "x" * 100_001, "user": "ann"}, "content"),
        ("post_comment", {"content": 5, "user": "ann"}, "content"),
        ("post_comment", {"content": "x", "user": "ann", "topic_id": "12"}, "topic_id"),
        ("post_comment", {"content": "x", "user": "ann", "topic_id": GUID}, "parent_path"),
        ("edit_comment", {"topic_id": GUID, "parent_path": "0"}, "content"),
        ("edit_comment", {"topic_id": GUID, "content": "x"}, "parent_path"),
        ("delete_comment", {"parent_path": "0"}, "topic_id"),
    ],
)
async def test_a_document_that_makes_no_sense_is_refused(
    empty_service: Service, method: str, parameters: dict[str, Any], culprit: str
) -> None:
    status, document = await empty_service.post(method, **parameters)
    assert status == 400
    assert culprit in document["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"content": "\\ud800", "user": "ann"}', b"\xff"])
async def test_what_is_not_a_document_is_refused(empty_service: Service, body: bytes) -> None:
    async with empty_service.http.post("/post_comment", data=body) as response:
        assert response.status == 400
        assert list(await response.json()) == ["error"]


async def test_a_document_that_is_too_large_is_refused(empty_service: Service) -> None:
    async with empty_service.http.post("/post_comment", data=io.BytesIO(b" " * (5 << 20))) as response:
        assert response.status == 400
        assert "error" in await response.json()


@pytest.mark.parametrize(
    ("method", "parameters", "culprit"),
    [
        ("topic_comments", {}, "topic_id"),
        ("topic_comments", {"topic_id": "x"}, "topic_id"),
        ("last_user_comments", {}, "user"),
        ("last_user_comments", {"user": "ann", "limit": "many"}, "limit"),
        ("last_user_comments", {"user": "ann", "from_time": "yesterday"}, "from_time"),
        ("last_topics", {"limit": 0}, "limit"),
        ("last_topics", {"limit": 1001}, "limit"),
        ("last_topics", {"from_time": -1}, "from_time"),
    ],
)
async def test_an_address_that_makes_no_sense_is_refused(
    empty_service: Service, method: str, parameters: dict[str, Any], culprit: str
) -> None:
    status, document = await empty_service.get(method, **parameters)
    assert status == 400
    assert culprit in document["error"]


@pytest.mark.parametrize(
    "address",
    [
        "last_user_comments?user=%ff%fe",
        "last_user_comments?user=%00",
        "last_user_comments?user=%22%20or%20true%20or%20%22",
        "last_user_comments?user=ann&user=bob",
        "last_user_comments?user=ann&from_time=9223372036854775807",
        "last_user_comments?user=ann&from_time=9999-12-31T23:59:59Z",
        "topic_comments?topic_id=1-2-3-4&parent_path=%00",
        "topic_comments?topic_id=1-2-3-4%0a",
        "last_topics?limit=1e400",
        "last_topics?from_time=" + "9" * 5000,
        "%",
        "..%2f..%2fetc%2fpasswd",
        "static/../web.py",
    ],
)
async def test_whatever_the_address_the_answer_is_a_document(empty_service: Service, address: str) -> None:
    async with empty_service.http.get(URL(f"{empty_service.url}{address}", encoded=True)) as response:
        assert response.status in (200, 400, 404)
        document = await response.json()
        assert document == [] if response.status == 200 else list(document) == ["error"]


async def test_what_is_not_there_is_not_found(service: Service, cluster: LocalCluster) -> None:
    topic = await service.new_topic()
    await service.reply(topic)
    for place in ({"topic_id": GUID, "parent_path": "0"}, {"topic_id": topic, "parent_path": "0/9"}):
        for method, more in (
            ("post_comment", {"content": "x", "user": "ann"}),
            ("edit_comment", {"content": "x"}),
            ("delete_comment", {}),
        ):
            status, document = await service.post(method, **place, **more)
            assert status == 404, method
            assert place["topic_id"] in document["error"]
        assert (await service.get("topic_comments", **place))[0] == 404
    assert (await service.get("topic_comments", topic_id=new_guid()))[0] == 404
    assert (await service.get("topic_comments", topic_id=topic, parent_path="0/"))[0] == 404
    assert (await service.get("nowhere"))[0] == 404
    check_nothing_is_half_there(cluster)


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("post_comment", {"parent_path": "0", "content": "x", "user": "ann"}),
    ("edit_comment", {"parent_path": "0", "content": "x"}),
    ("delete_comment", {"parent_path": "0"}),
    ("topic_comments", {}),
    ("last_user_comments", {"user": "ann"}),
    ("last_topics", {}),
)


@pytest.mark.parametrize(("method", "parameters"), CALLS)
async def test_without_mounted_tables_the_service_is_unavailable(
    service: Service, cluster: LocalCluster, method: str, parameters: dict[str, Any]
) -> None:
    topic = await service.new_topic()
    for path in TABLES.schemas:
        cluster.unmount_tablet(path)
    status, document = await ask(service, method, topic, parameters)
    assert status == 503
    assert "mounted" in document["error"]
    for path in TABLES.schemas:
        cluster.mount_tablet(path)
    assert (await ask(service, method, topic, parameters))[0] in (200, 201)
    check_nothing_is_half_there(cluster)


@pytest.mark.parametrize("path", [TABLES.user_comments, TABLES.topics, TABLES.comment_events])
async def test_a_comment_that_cannot_be_written_everywhere_is_written_nowhere(
    service: Service, cluster: LocalCluster, path: str
) -> None:
    topic = await service.new_topic()
    cluster.unmount_tablet(path)
    status, _ = await ask(service, "post_comment", topic, {"parent_path": "0", "content": "x", "user": "ann"})
    assert status == 503
    cluster.mount_tablet(path)
    assert len(await service.tree(topic)) == 1
    check_nothing_is_half_there(cluster)
    assert await service.reply(topic) == "0/1"
    check_nothing_is_half_there(cluster)


async def test_while_the_cluster_is_away_the_service_is_unavailable(service: Service, cluster: LocalCluster) -> None:
    topic = await service.new_topic()
    with cluster.off():
        for method, parameters in CALLS:
            assert (await ask(service, method, topic, parameters))[0] == 503, method
    assert (await service.get("last_topics"))[0] == 200


@pytest.mark.parametrize(
    ("method", "parameters", "command"),
    [
        ("post_comment", {"parent_path": "0", "content": "x", "user": "ann"}, "push_queue_producer"),
        ("post_comment", {"parent_path": "0", "content": "x", "user": "ann"}, "commit_transaction"),
        ("edit_comment", {"parent_path": "0", "content": "x"}, "lookup_rows"),
        ("delete_comment", {"parent_path": "0"}, "insert_rows"),
        ("topic_comments", {}, "select_rows"),
        ("last_user_comments", {"user": "ann"}, "select_rows"),
        ("last_topics", {}, "lookup_rows"),
    ],
)
async def test_a_cluster_that_does_not_answer_in_time_is_a_timeout(
    cluster: LocalCluster, time: Time, method: str, parameters: dict[str, Any], command: str
) -> None:
    async with serving(cluster, time, "patient") as patient:
        topic = await patient.new_topic()
        async with serving(cluster, time, "hasty", command_timeout=1) as hasty:
            with cluster.faults.hang(command):
                status, document = await ask(hasty, method, topic, parameters)
        assert status == 524
        assert document["error"]
        check_nothing_is_half_there(cluster)


async def test_a_comment_whose_answer_was_lost_is_there_once_and_nobody_claims_otherwise(
    service: Service, cluster: LocalCluster
) -> None:
    topic = await service.new_topic()
    comment = {"parent_path": "0", "content": "x", "user": "ann"}
    with cluster.faults.drop("commit_transaction", count=1, executed=True):
        status, document = await ask(service, "post_comment", topic, comment)
    assert (status, "may have been done" in document["error"]) == (503, True)
    assert [one["content"] for one in await service.tree(topic)] == ["first", "x"]
    check_nothing_is_half_there(cluster)


@pytest.mark.parametrize(("method", "parameters"), CALLS[:3])
async def test_of_two_who_write_at_once_the_later_learns_of_the_conflict(
    cluster: LocalCluster, time: Time, method: str, parameters: dict[str, Any]
) -> None:
    stopping = StoppingTime()
    async with serving(cluster, stopping, "slow", attempts=1) as slow, serving(cluster, time, "fast") as fast:
        topic = await fast.new_topic()
        async with asyncio.TaskGroup() as group:
            answer = group.create_task(ask(slow, method, topic, parameters))
            assert await asyncio.to_thread(stopping.asked.wait, 30)
            assert await fast.reply(topic) == "0/1"
            stopping.go_on.set()
        status, document = answer.result()
        assert status == 409
        assert document["error"]
        check_nothing_is_half_there(cluster)
        assert [comment["content"] for comment in await fast.tree(topic)] == ["first", "reply"]
        assert (await ask(slow, method, topic, parameters))[0] in (200, 201)
        check_nothing_is_half_there(cluster)


async def test_an_error_of_the_cluster_in_so_many_words(service: Service, cluster: LocalCluster) -> None:
    cluster.client.set(f"{TABLES.topics}/@acl", [{"action": "deny", "subjects": ["everyone"], "permissions": ["read"]}])
    cluster.client.remove(TABLES.topics)
    status, document = await service.get("last_topics")
    assert status == 503
    assert TABLES.topics in document["error"]
    assert "\n" not in document["error"]
