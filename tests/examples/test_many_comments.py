"""Many who post at once into a large topic; random requests against a plain model."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from tests.examples.comment_world import START, Service, Time, check_nothing_is_half_there, insert_topic, serving
from yt_local.testing import LocalCluster

TOPIC_SIZE: Final = 50_000
POSTERS: Final = 200


@dataclass
class Model:
    """What the service should know, as plain lists."""

    topics: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def post(self, topic: str, parent_path: str | None, content: str, user: str, now: int) -> str:
        comments = self.topics.setdefault(topic, [])
        number = len(comments)
        path = "0" if parent_path is None else f"{parent_path}/{number}"
        parent_id = int(path.split("/")[-2]) if number else 0
        comments.append(
            {
                "path": path,
                "comment_id": number,
                "parent_id": parent_id,
                "content": content,
                "user": user,
                "view_count": 0,
                "update_time": now,
                "deleted": False,
            }
        )
        return path

    def comment(self, topic: str, path: str) -> dict[str, Any]:
        return self.topics[topic][int(path.rpartition("/")[2])]

    def tree(self, topic: str, root: str) -> list[dict[str, Any]]:
        """A comment and all below it, children in the order of their numbers, found by walking down."""
        shown = []
        pending = [self.comment(topic, root)]
        while pending:
            comment = pending.pop()
            comment["view_count"] += 1
            shown.append({name: value for name, value in comment.items() if name != "path"})
            children = [
                child
                for child in self.topics[topic]
                if child["parent_id"] == comment["comment_id"] and child is not comment
            ]
            pending.extend(reversed(children))
        return shown

    def last_of(self, user: str, from_time: int, limit: int) -> list[tuple[int, str, int]]:
        found = [
            (comment["update_time"], topic, comment["comment_id"])
            for topic, comments in self.topics.items()
            for comment in comments
            if comment["user"] == user and not comment["deleted"] and comment["update_time"] > from_time
        ]
        return sorted(found, reverse=True)[:limit]

    def last_topics(self, limit: int) -> list[tuple[int, str]]:
        """All the updates count, also those that deleted something."""
        found = [
            (max(comment["update_time"] for comment in comments), topic) for topic, comments in self.topics.items()
        ]
        return sorted(found, reverse=True)[:limit]


@pytest.mark.slow
async def test_random_requests_are_answered_as_a_plain_model_does(
    service: Service, cluster: LocalCluster, time: Time
) -> None:
    chance = random.Random(20261121)
    model = Model()
    users = ["ann", "bob", "cid"]
    for _ in range(150):
        time.seconds += 1
        topic = chance.choice([*model.topics, None]) if len(model.topics) < 4 else chance.choice(list(model.topics))
        user, content = chance.choice(users), f"text {chance.random()}"
        if topic is None:
            topic = await service.new_topic(content, user)
            model.post(topic, None, content, user, time.seconds)
            continue
        # Small numbers often: chains, and siblings of more than one digit.
        path = chance.choice(model.topics[topic][:13])["path"]
        action = chance.choice(["post", "post", "post", "edit", "delete", "tree", "user", "topics"])
        comment = model.comment(topic, path)
        if action == "post":
            assert await service.reply(topic, path, content, user) == model.post(
                topic, path, content, user, time.seconds
            )
        elif action == "edit":
            status, _ = await service.post("edit_comment", topic_id=topic, parent_path=path, content=content)
            assert status == (400 if comment["deleted"] else 200)
            if not comment["deleted"]:
                comment |= {"content": content, "update_time": time.seconds}
        elif action == "delete":
            assert (await service.post("delete_comment", topic_id=topic, parent_path=path))[0] == 200
            if not comment["deleted"]:
                comment |= {"content": "", "deleted": True, "update_time": time.seconds}
        elif action == "tree":
            assert await service.tree(topic, parent_path=path) == model.tree(topic, path)
        elif action == "user":
            from_time, limit = chance.randint(START - 1, time.seconds), chance.randint(1, 20)
            comments = (await service.get("last_user_comments", user=user, from_time=from_time, limit=limit))[1]
            shown = [(item["update_time"], item["topic_id"], item["comment_id"]) for item in comments]
            assert shown == model.last_of(user, from_time, limit)
            for item in comments:
                assert item["content"] == model.topics[item["topic_id"]][item["comment_id"]]["content"]
        else:
            topics = (await service.get("last_topics", limit=3))[1]
            assert [(item["update_time"], item["topic_id"]) for item in topics] == model.last_topics(3)
    for topic in model.topics:
        assert await service.tree(topic) == model.tree(topic, "0")
    check_nothing_is_half_there(cluster)


@pytest.mark.slow
async def test_two_hundred_who_post_at_once_into_a_large_topic_all_get_a_number_of_their_own(
    cluster: LocalCluster, time: Time
) -> None:
    topic = await asyncio.to_thread(insert_topic, cluster, TOPIC_SIZE)
    posted: dict[int, str] = {}
    conflicts = 0
    # Two instances: within one, writers of a topic take turns; between two it is the cluster that says who was first.
    async with serving(cluster, time, "one", 100, 1) as one, serving(cluster, time, "two", 100, 1) as two:

        async def poster(number: int) -> None:
            nonlocal conflicts
            service = (one, two)[number % 2]
            while True:
                status, document = await service.post(
                    "post_comment", topic_id=topic, parent_path="0/7", content=f"from {number}", user="poster"
                )
                if status == 201:
                    assert document["comment_id"] not in posted
                    posted[document["comment_id"]] = f"from {number}"
                    return
                assert status == 409, document
                conflicts += 1

        async with asyncio.TaskGroup() as group:
            for number in range(POSTERS):
                group.create_task(poster(number))
        assert conflicts, "else nothing was shown"
        assert sorted(posted) == list(range(TOPIC_SIZE, TOPIC_SIZE + POSTERS))

        subtree = await one.tree(topic, parent_path="0/7")
        assert [comment["comment_id"] for comment in subtree] == [7, *range(1007, TOPIC_SIZE, 1000), *sorted(posted)]
        assert {comment["comment_id"]: comment["content"] for comment in subtree[-POSTERS:]} == posted
        last = (await two.get("last_user_comments", user="poster", limit=50))[1]
        assert [comment["comment_id"] for comment in last] == sorted(posted, reverse=True)[:50]
        last = (await two.get("last_user_comments", user="user7", limit=20))[1]
        assert [comment["comment_id"] for comment in last] == [TOPIC_SIZE - 93 - 100 * step for step in range(20)]

        everything = await one.tree(topic)
        assert len(everything) == TOPIC_SIZE + POSTERS
        views = {comment["comment_id"]: comment["view_count"] for comment in everything}
        assert (views[0], views[7], views[8], views[TOPIC_SIZE]) == (1, 2, 1, 2)
