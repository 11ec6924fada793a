"""A comment service for tests, the tables it writes, and what is always true of them."""

from __future__ import annotations

import threading
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
from aiohttp.test_utils import TestServer
from yt.yson import YsonUint64

from examples.comment_service.create_tables import create_tables
from examples.comment_service.settings import Settings
from examples.comment_service.tables import EVENT_PARTITION_COUNT, Tables
from examples.comment_service.web import build_app
from tests.waiting import LIMIT_SECONDS
from yt_local.testing import LocalCluster

DIRECTORY: Final = "//home/comments"
START: Final = 1_800_000_000
"""POSIX seconds at the beginning of a test."""

TABLES: Final = Tables(DIRECTORY)
INSERTED_AT_ONCE: Final = 10_000


@dataclass
class Time:
    """The service's clock; it moves when told to."""

    seconds: int = START

    def now(self) -> int:
        """POSIX seconds."""
        return self.seconds


class StoppingTime(Time):
    """Stops whoever asks for the time, which writers do inside of their transaction, until they may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def now(self) -> int:
        self.asked.set()
        assert self.go_on.wait(LIMIT_SECONDS), "nobody lets it go on"
        return self.seconds


@dataclass(frozen=True)
class Service:
    """A running service, asked over HTTP."""

    http: aiohttp.ClientSession
    url: str

    async def get(self, method: str, **parameters: Any) -> tuple[int, Any]:
        """Code and document."""
        async with self.http.get(f"/{method}", params=parameters) as response:
            return response.status, await response.json()

    async def post(self, method: str, **parameters: Any) -> tuple[int, Any]:
        """Code and document."""
        async with self.http.post(f"/{method}", json=parameters) as response:
            return response.status, await response.json()

    async def new_topic(self, content: str = "first", user: str = "ann") -> str:
        """Guid of a topic with one comment."""
        status, posted = await self.post("post_comment", content=content, user=user)
        assert status == 201, posted
        topic_id: str = posted["topic_id"]
        return topic_id

    async def reply(self, topic_id: str, parent_path: str = "0", content: str = "reply", user: str = "bob") -> str:
        """Path of a new comment."""
        status, posted = await self.post(
            "post_comment", topic_id=topic_id, parent_path=parent_path, content=content, user=user
        )
        assert status == 201, posted
        path: str = posted["parent_path"]
        return path

    async def tree(self, topic_id: str, **parameters: Any) -> list[dict[str, Any]]:
        """Comments of a topic."""
        status, comments = await self.get("topic_comments", topic_id=topic_id, **parameters)
        assert status == 200, comments
        answer: list[dict[str, Any]] = comments
        return answer


@asynccontextmanager
async def serving(
    cluster: LocalCluster, time: Time, instance: str = "test", command_timeout: float = 30, attempts: int = 10
) -> AsyncIterator[Service]:
    """An instance of the service on the tables of a cluster."""
    settings = Settings(cluster=cluster.url, table_path=DIRECTORY, timeout=command_timeout, attempts=attempts)
    app = build_app(settings, instance, now=time.now, new_guid=new_guid)
    async with (
        TestServer(app) as server,
        aiohttp.ClientSession(server.make_url("/"), connector=aiohttp.TCPConnector(limit=0)) as http,
    ):
        yield Service(http, str(server.make_url("/")))


def new_guid() -> str:
    """Four numbers, as YTsaurus writes them."""
    digits = uuid.uuid4().hex
    return "-".join(f"{int(digits[start : start + 8], 16):x}" for start in range(0, 32, 8))


def create(cluster: LocalCluster) -> None:
    """Create the tables."""
    create_tables(DIRECTORY, cluster.name, [], lambda _: cluster.client, force=False)


def insert_topic(cluster: LocalCluster, size: int) -> str:
    """A topic of so many comments, written by hand: a thousand below the root, the rest below these."""
    topic = new_guid()
    paths = ["0"]
    for number in range(1, size):
        above = "0" if number < 1000 else paths[number % 1000 or 1]
        paths.append(f"{above}/{number}")
    for start in range(0, size, INSERTED_AT_ONCE):
        chunk = range(start, min(size, start + INSERTED_AT_ONCE))
        comments = [
            {
                "topic_id": topic,
                "parent_path": paths[number],
                "comment_id": YsonUint64(number),
                "parent_id": YsonUint64(int(paths[number].split("/")[-2]) if number else 0),
                "user": f"user{number % 100}",
                "create_time": YsonUint64(START - size + number),
                "update_time": YsonUint64(START - size + number),
                "content": f"comment {number}",
                "views_count": 0,
                "deleted": False,
            }
            for number in chunk
        ]
        index = ("user", "topic_id", "parent_path", "update_time")
        cluster.client.insert_rows(TABLES.topic_comments, comments)
        cluster.client.insert_rows(
            TABLES.user_comments, [{name: comment[name] for name in index} for comment in comments]
        )
    cluster.client.insert_rows(
        TABLES.topics,
        [{"topic_id": topic, "update_time": YsonUint64(START - 1), "comment_count": YsonUint64(size)}],
    )
    return topic


def rows_of(cluster: LocalCluster, path: str) -> list[dict[str, Any]]:
    """All rows of a table."""
    return [dict(row) for row in cluster.client.select_rows(f"* from [{path}]")]


def events(cluster: LocalCluster) -> list[dict[str, Any]]:
    """All rows of the queue."""
    return rows_of(cluster, TABLES.comment_events)


def check_nothing_is_half_there(cluster: LocalCluster) -> None:
    """Comments, indexes, numbers and events agree with each other."""
    comments = rows_of(cluster, TABLES.topic_comments)
    assert {_place(row) for row in rows_of(cluster, TABLES.user_comments)} == {
        _place(row) for row in comments if not row["deleted"]
    }
    by_topic: dict[str, list[int]] = {}
    for row in comments:
        by_topic.setdefault(row["topic_id"], []).append(int(row["comment_id"]))
    topics = {row["topic_id"]: int(row["comment_count"]) for row in rows_of(cluster, TABLES.topics)}
    assert {topic: sorted(numbers) for topic, numbers in by_topic.items()} == {
        topic: list(range(count)) for topic, count in topics.items()
    }
    queued = events(cluster)
    assert sorted(map(_place, queued)) == sorted(map(_place, comments))
    for index in range(EVENT_PARTITION_COUNT):
        check_order_of_events([row for row in queued if row["$tablet_index"] == index])


def check_order_of_events(partition: Sequence[Mapping[str, Any]]) -> None:
    """Comments of one topic are queued in the order of their numbers."""
    last: dict[str, int] = {}
    for row in partition:
        assert int(row["comment_id"]) > last.get(row["topic_id"], -1)
        last[row["topic_id"]] = int(row["comment_id"])


def _place(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["user"], row["topic_id"], row["parent_path"]


async def ask(service: Service, method: str, topic: str, parameters: dict[str, Any]) -> tuple[int, Any]:
    if method.endswith("_comment"):
        return await service.post(method, topic_id=topic, **parameters)
    return await service.get(method, topic_id=topic, **parameters)
