"""The methods of the comment service, and every code they answer with."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.examples.comment_world import (
    START,
    TABLES,
    Service,
    Time,
    ask,
    check_nothing_is_half_there,
    events,
    rows_of,
    serving,
)
from yt_local.testing import LocalCluster


async def test_the_first_comment_of_a_topic_is_its_root(service: Service, cluster: LocalCluster) -> None:
    status, posted = await service.post("post_comment", content="hello", user="ann")
    assert status == 201
    topic_id = posted.pop("topic_id")
    assert posted == {"comment_id": 0, "new_topic": True, "parent_path": "0"}
    assert await service.tree(topic_id) == [
        {
            "comment_id": 0,
            "parent_id": 0,
            "content": "hello",
            "user": "ann",
            "view_count": 1,
            "update_time": START,
            "deleted": False,
        }
    ]
    check_nothing_is_half_there(cluster)


async def test_an_answer_gets_the_next_number_and_the_path_of_what_it_answers(service: Service) -> None:
    topic = await service.new_topic()
    assert await service.reply(topic, "0") == "0/1"
    status, posted = await service.post(
        "post_comment", topic_id=topic, parent_path="0/1", content="so it is", user="cid"
    )
    assert status == 201
    assert posted == {"comment_id": 2, "new_topic": False, "parent_path": "0/1/2", "topic_id": topic}
    comment = (await service.tree(topic))[2]
    assert (comment["parent_id"], comment["content"], comment["user"]) == (1, "so it is", "cid")


async def test_answers_follow_what_they_answer_in_the_order_of_their_creation(service: Service) -> None:
    topic = await service.new_topic()
    for _ in range(11):
        await service.reply(topic)
    await service.reply(topic, "0/2")
    await service.reply(topic, "0/10")
    await service.reply(topic, "0/2")
    numbers = [comment["comment_id"] for comment in await service.tree(topic)]
    assert numbers == [0, 1, 2, 12, 14, 3, 4, 5, 6, 7, 8, 9, 10, 13, 11]


async def test_a_subtree_has_a_comment_and_what_is_below_it(service: Service) -> None:
    topic = await service.new_topic()
    for _ in range(11):
        await service.reply(topic)
    await service.reply(topic, "0/1")
    await service.reply(topic, "0/1/12")
    await service.reply(topic, "0/10")
    numbers = [comment["comment_id"] for comment in await service.tree(topic, parent_path="0/1")]
    assert numbers == [1, 12, 13], "but not 10 and 11, which begin with the same digit"


async def test_a_comment_is_counted_as_seen_when_it_is_requested(service: Service) -> None:
    topic = await service.new_topic()
    await service.reply(topic)
    for _ in range(2):
        await service.tree(topic, parent_path="0/1")
    assert [comment["view_count"] for comment in await service.tree(topic)] == [1, 3]
    (seen,) = (await service.get("last_user_comments", user="bob"))[1]
    assert seen["view_count"] == 3
    (seen,) = (await service.get("last_topics"))[1]
    assert seen["view_count"] == 1


async def test_an_edited_comment_has_another_text_and_time(service: Service, cluster: LocalCluster, time: Time) -> None:
    topic = await service.new_topic()
    await service.reply(topic, content="wrong")
    await service.tree(topic)
    time.seconds += 60
    status, document = await service.post("edit_comment", topic_id=topic, parent_path="0/1", content="right")
    assert (status, document) == (200, {})
    root, comment = await service.tree(topic)
    assert (comment["content"], comment["update_time"], comment["view_count"]) == ("right", START + 60, 2)
    assert root["update_time"] == START
    (topic_now,) = (await service.get("last_topics"))[1]
    assert topic_now["update_time"] == START + 60
    (of_user,) = (await service.get("last_user_comments", user="bob", from_time=START))[1]
    assert of_user["content"] == "right"
    check_nothing_is_half_there(cluster)


async def test_a_deleted_comment_stays_in_the_tree_without_its_text(service: Service, cluster: LocalCluster) -> None:
    topic = await service.new_topic()
    await service.reply(topic, content="secret")
    await service.reply(topic, "0/1")
    for _ in range(2):
        assert await service.post("delete_comment", topic_id=topic, parent_path="0/1") == (200, {})
    shown = [(comment["deleted"], comment["content"]) for comment in await service.tree(topic)]
    assert shown == [(False, "first"), (True, ""), (False, "reply")]
    of_user = (await service.get("last_user_comments", user="bob"))[1]
    assert [comment["comment_id"] for comment in of_user] == [2]
    assert await service.reply(topic, "0/1") == "0/1/3"
    check_nothing_is_half_there(cluster)


async def test_a_deleted_comment_cannot_be_edited(service: Service) -> None:
    topic = await service.new_topic()
    await service.post("delete_comment", topic_id=topic, parent_path="0")
    status, document = await service.post("edit_comment", topic_id=topic, parent_path="0", content="again")
    assert status == 400
    assert "deleted" in document["error"]


async def test_the_last_comments_of_a_user_come_from_all_topics(service: Service, time: Time) -> None:
    topics = [await service.new_topic(user="ann") for _ in range(2)]
    for number in range(6):
        time.seconds += 10
        await service.reply(topics[number % 2], content=f"c{number}", user='o\'hara "{user}"')
    await service.post("edit_comment", topic_id=topics[0], parent_path="0/1", content="c0 again")

    async def last(**parameters: Any) -> list[str]:
        status, comments = await service.get("last_user_comments", user='o\'hara "{user}"', **parameters)
        assert status == 200
        return [comment["content"] for comment in comments]

    time.seconds += 10
    await service.post("edit_comment", topic_id=topics[1], parent_path="0/1", content="c1 again")
    assert await last(limit=2) == ["c1 again", "c5"]
    assert set(await last()) == {"c1 again", "c5", "c4", "c3", "c2", "c0 again"}
    assert await last(from_time=START + 50) == ["c1 again", "c5", "c0 again"]
    assert await last(from_time=START + 60) == ["c1 again"]
    assert await last(from_time="2027-01-15T08:01:00Z") == ["c1 again"]
    assert await last(from_time="2027-01-15T10:01:00+02:00") == ["c1 again"]
    assert (await service.get("last_user_comments", user="nobody")) == (200, [])


async def test_the_last_topics_are_those_with_a_comment_updated_last(service: Service, time: Time) -> None:
    topics = []
    for number in range(12):
        time.seconds += 1
        topics.append(await service.new_topic(content=f"t{number}"))
    time.seconds += 1
    await service.reply(topics[3])
    answer = (await service.get("last_topics", limit=3))[1]
    assert answer[0] == {
        "topic_id": topics[3],
        "content": "t3",
        "user": "ann",
        "view_count": 0,
        "update_time": START + 13,
    }
    assert [topic["content"] for topic in answer] == ["t3", "t11", "t10"]
    assert len((await service.get("last_topics"))[1]) == 10
    newest = (await service.get("last_topics", from_time=START + 11))[1]
    assert [topic["content"] for topic in newest] == ["t3", "t11"]


async def test_older_topics_are_read_page_by_page(service: Service, time: Time) -> None:
    written = set()
    for number in range(7):
        time.seconds = START + number // 3  # several in one second
        written.add(await service.new_topic())
    pages: list[list[str]] = []
    position: dict[str, Any] = {}
    while page := (await service.get("last_topics", limit=2, **position))[1]:
        pages.append([topic["topic_id"] for topic in page])
        position = {"to_time": page[-1]["update_time"], "to_topic": page[-1]["topic_id"]}
    assert list(map(len, pages)) == [2, 2, 2, 1]
    assert {topic for page in pages for topic in page} == written
    assert (await service.get("last_topics", to_time=START))[0] == 400


async def test_who_conflicts_with_another_instance_tries_again(cluster: LocalCluster, time: Time) -> None:
    async with serving(cluster, time, "one") as one, serving(cluster, time, "two") as two:
        topic = await one.new_topic()
        async with asyncio.TaskGroup() as group:
            posted = [group.create_task((one, two)[number % 2].reply(topic)) for number in range(30)]
    assert sorted(task.result() for task in posted) == sorted(f"0/{number}" for number in range(1, 31))
    check_nothing_is_half_there(cluster)


async def test_every_comment_is_an_event_of_the_queue(service: Service, cluster: LocalCluster, time: Time) -> None:
    topic = await service.new_topic(content="hello")
    time.seconds += 5
    await service.reply(topic, content="hi")
    registrations = list(cluster.client.list_queue_consumer_registrations(queue_path=TABLES.comment_events))
    assert [(str(item["consumer_path"]), bool(item["vital"])) for item in registrations] == [
        (TABLES.comment_events_consumer, True)
    ]
    partition = events(cluster)[0]["$tablet_index"]
    pulled = cluster.client.pull_queue_consumer(
        TABLES.comment_events_consumer, TABLES.comment_events, offset=0, partition_index=partition
    )
    shown = [(row["comment_id"], row["parent_path"], row["content"], row["create_time"]) for row in pulled]
    assert shown == [(0, "0", "hello", START), (1, "0/1", "hi", START + 5)]


async def test_who_takes_the_producer_sessions_over_fences_off_the_one_before(
    cluster: LocalCluster, time: Time
) -> None:
    async with serving(cluster, time, "same", attempts=1) as before:
        topic = await before.new_topic()
        async with serving(cluster, time, "same") as after:
            assert await after.reply(topic) == "0/1"
        call = {"parent_path": "0", "content": "x", "user": "ann"}
        assert (await ask(before, "post_comment", topic, call))[0] == 409
        assert (await ask(before, "post_comment", topic, call))[0] == 201
        check_nothing_is_half_there(cluster)


async def test_a_comment_whose_answer_got_lost_is_there_as_a_whole(service: Service, cluster: LocalCluster) -> None:
    topic = await service.new_topic()
    call = {"parent_path": "0", "content": "x", "user": "ann"}
    with cluster.faults.drop("commit_transaction", count=1, executed=True):
        assert (await ask(service, "post_comment", topic, call))[0] == 503
    assert len(await service.tree(topic)) == 2
    check_nothing_is_half_there(cluster)
    assert await service.reply(topic) == "0/2"
    check_nothing_is_half_there(cluster)


async def test_the_keys_of_a_users_comments_begin_with_the_hash_of_the_name(
    service: Service, cluster: LocalCluster
) -> None:
    await service.new_topic(user="ann")
    (row,) = rows_of(cluster, TABLES.user_comments)
    (hashed,) = cluster.client.select_rows(f"farm_hash('ann') as h from [{TABLES.user_comments}]")
    assert row["hash"] == hashed["h"]


async def test_the_description_for_programs_is_complete(service: Service) -> None:
    status, document = await service.get("openapi.json")
    assert status == 200
    assert document["openapi"].startswith("3.")
    operations = {(path, verb): item for path, item in document["paths"].items() for verb, item in item.items()}
    assert sorted(operations) == [
        ("/delete_comment", "post"),
        ("/edit_comment", "post"),
        ("/last_topics", "get"),
        ("/last_user_comments", "get"),
        ("/post_comment", "post"),
        ("/topic_comments", "get"),
    ]
    assert set(operations["/post_comment", "post"]["responses"]) == {"201", "400", "404", "409", "503", "524"}
    limits = operations["/last_topics", "get"]["parameters"]
    assert [(item["name"], item["in"], item["required"]) for item in limits] == [
        ("limit", "query", False),
        ("from_time", "query", False),
        ("to_time", "query", False),
        ("to_topic", "query", False),
    ]
    for reference in _references(document):
        assert reference.removeprefix("#/components/schemas/") in document["components"]["schemas"]
    assert document["components"]["schemas"]["PostComment"]["required"] == ["content", "user"]
    assert json.dumps(document)


def _references(part: Any) -> list[str]:
    if isinstance(part, list):
        return [reference for item in part for reference in _references(item)]
    if not isinstance(part, dict):
        return []
    own = [part["$ref"]] if "$ref" in part else []
    return own + [reference for item in part.values() for reference in _references(item)]
