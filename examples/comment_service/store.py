"""Comments in dynamic tables. Everything here blocks, and may be called from many threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

from yt.wrapper import YtClient, YtError
from yt.yson import YsonUint64

from examples.comment_service.api_models import (
    DeleteComment,
    EditComment,
    LastTopics,
    LastUserComments,
    PostComment,
    PostedComment,
    Topic,
    TopicComment,
    TopicComments,
    UserComment,
)
from examples.comment_service.clients import Clients
from examples.comment_service.events import Events
from examples.comment_service.failures import IncorrectRequest, NotFound, cluster_failures, is_conflict
from examples.comment_service.tables import Tables

ROOT_PATH: Final = "0"
VIEW_ATTEMPTS: Final = 5
"""How often counting a view is tried: nothing is read before, so it can simply be done again."""


class CommentStore:
    """Reads and writes comments; every failure is a CommentServiceError.

    Args:
        clients: makes clients of the cluster.
        tables: where the tables are.
        events: gets every new comment.
        transaction_timeout: after that an abandoned transaction is gone.
        now: POSIX seconds.
        new_guid: a guid that nobody has yet.
    """

    def __init__(
        self,
        clients: Clients,
        tables: Tables,
        events: Events,
        transaction_timeout: timedelta,
        now: Callable[[], int],
        new_guid: Callable[[], str],
    ) -> None:
        self._clients = clients
        self._tables = tables
        self._events = events
        self._transaction_timeout = transaction_timeout
        self._now = now
        self._new_guid = new_guid

    def post(self, request: PostComment) -> PostedComment:
        """Add a comment to all tables and to the queue, or to none.

        The number of comments is read at the start of the transaction and written in it: of two that take the same
        number only one is committed.
        """
        with cluster_failures():
            session = self._events.session(self._clients.client())
            with self._transaction() as client:
                new_topic = request.topic_id is None
                topic_id = request.topic_id or self._new_guid()
                if new_topic:
                    comment_id = parent_id = 0
                    path = ROOT_PATH
                else:
                    assert request.parent_path is not None, "the model asks for it"
                    comment_id = self._comment_count(client, topic_id)
                    parent_id = int(self._comment(client, topic_id, request.parent_path)["comment_id"])
                    path = f"{request.parent_path}/{comment_id}"
                now = YsonUint64(self._now())
                comment = {
                    "topic_id": topic_id,
                    "parent_path": path,
                    "comment_id": YsonUint64(comment_id),
                    "parent_id": YsonUint64(parent_id),
                    "user": request.user,
                    "create_time": now,
                    "update_time": now,
                    "content": request.content,
                    "views_count": 0,
                    "deleted": False,
                }
                client.insert_rows(self._tables.topic_comments, [comment], aggregate=True)
                client.insert_rows(self._tables.user_comments, [_index_row(comment, now)])
                topic = {"topic_id": topic_id, "update_time": now, "comment_count": YsonUint64(comment_id + 1)}
                client.insert_rows(self._tables.topics, [topic])
                self._events.push(client, session, comment)
        return PostedComment(comment_id=comment_id, new_topic=new_topic, parent_path=path, topic_id=topic_id)

    def edit(self, request: EditComment) -> None:
        """Give a comment another text.

        Raises:
            IncorrectRequest: it has been deleted.
        """
        with cluster_failures(), self._transaction() as client:
            comment = self._comment(client, request.topic_id, request.parent_path)
            if comment["deleted"]:
                raise IncorrectRequest(
                    f"Comment {request.parent_path} of topic {request.topic_id} is deleted: it cannot be edited"
                )
            update_time = self._update(client, comment, {"content": request.content})
            client.insert_rows(self._tables.user_comments, [_index_row(comment, update_time)])

    def delete(self, request: DeleteComment) -> None:
        """Mark a comment as deleted; nothing happens if it is."""
        with cluster_failures(), self._transaction() as client:
            comment = self._comment(client, request.topic_id, request.parent_path)
            if not comment["deleted"]:
                self._update(client, comment, {"deleted": True})
                key = {name: comment[name] for name in ("user", "topic_id", "parent_path")}
                client.delete_rows(self._tables.user_comments, [key])

    def topic_comments(self, request: TopicComments) -> list[TopicComment]:
        """Comments of a topic or of a subtree, answers behind what they answer, and in the order of their creation.

        Every one of them is counted as seen.
        """
        with cluster_failures():
            client = self._clients.client()
            rows = self._subtree(client, request)
            if not rows:
                raise NotFound(
                    f"There is no topic {request.topic_id}"
                    if request.parent_path is None
                    else f"There is no comment {request.parent_path} in topic {request.topic_id}"
                )
            self._count_views(client, request.topic_id, [row["parent_path"] for row in rows])
        # By number, not by letter: the tenth answer is not to come before the second.
        rows.sort(key=lambda row: [int(comment_id) for comment_id in row["parent_path"].split("/")])
        return [
            TopicComment(
                comment_id=int(row["comment_id"]),
                parent_id=int(row["parent_id"]),
                content=_content(row),
                user=row["user"],
                view_count=int(row["views_count"]) + 1,
                update_time=int(row["update_time"]),
                deleted=bool(row["deleted"]),
            )
            for row in rows
        ]

    def last_user_comments(self, request: LastUserComments) -> list[UserComment]:
        """Comments of a user that are not deleted, the last updated first."""
        query = f"""
            topic_comments.comment_id as comment_id, topic_comments.topic_id as topic_id,
            topic_comments.content as content, topic_comments.user as user,
            topic_comments.views_count as views_count, topic_comments.update_time as update_time
            from [{self._tables.user_comments}] as user_comments
            join [{self._tables.topic_comments}] as topic_comments
            on (user_comments.topic_id, user_comments.parent_path) =
               (topic_comments.topic_id, topic_comments.parent_path)
            where user_comments.user = {{user}} and user_comments.update_time > {{from_time}}
            order by user_comments.update_time desc, topic_comments.comment_id desc
            limit {request.limit}"""
        with cluster_failures():
            client = self._clients.client()
            rows = client.select_rows(
                query, placeholder_values={"user": request.user, "from_time": YsonUint64(request.from_time)}
            )
            return [
                UserComment(
                    comment_id=int(row["comment_id"]),
                    topic_id=row["topic_id"],
                    content=row["content"],
                    user=row["user"],
                    view_count=int(row["views_count"]),
                    update_time=int(row["update_time"]),
                )
                for row in rows
            ]

    def last_topics(self, request: LastTopics) -> list[Topic]:
        """Topics, the last updated first."""
        placeholders: dict[str, Any] = {"from_time": YsonUint64(request.from_time)}
        older = ""
        if request.to_time is not None:
            older = "and (update_time < {to_time} or update_time = {to_time} and topic_id > {to_topic})"
            placeholders |= {"to_time": YsonUint64(request.to_time), "to_topic": request.to_topic}
        query = f"""
            topic_id, update_time from [{self._tables.topics}]
            where update_time > {{from_time}} {older}
            order by update_time desc, topic_id limit {request.limit}"""
        with cluster_failures():
            client = self._clients.client()
            topics = list(client.select_rows(query, placeholder_values=placeholders))
            keys = [{"topic_id": topic["topic_id"], "parent_path": ROOT_PATH} for topic in topics]
            roots = {row["topic_id"]: row for row in client.lookup_rows(self._tables.topic_comments, keys)}
        return [
            Topic(
                topic_id=topic["topic_id"],
                content=_content(root),
                user=root["user"],
                view_count=int(root["views_count"]),
                update_time=int(topic["update_time"]),
            )
            for topic, root in ((topic, roots[topic["topic_id"]]) for topic in topics)
        ]

    @contextmanager
    def _transaction(self) -> Iterator[YtClient]:
        """Commit what is done inside with the client, all at once, or nothing."""
        client = self._clients.client()
        # It is over long before it would need a ping.
        with client.Transaction(type="tablet", timeout=self._transaction_timeout, ping=False):
            yield client

    def _comment_count(self, client: YtClient, topic_id: str) -> int:
        rows = list(client.lookup_rows(self._tables.topics, [{"topic_id": topic_id}]))
        if not rows:
            raise NotFound(f"There is no topic {topic_id}")
        return int(rows[0]["comment_count"])

    def _comment(self, client: YtClient, topic_id: str, path: str) -> Mapping[str, Any]:
        rows = list(
            client.lookup_rows(
                self._tables.topic_comments,
                [{"topic_id": topic_id, "parent_path": path}],
                column_names=["topic_id", "parent_path", "comment_id", "user", "deleted"],
            )
        )
        if not rows:
            raise NotFound(f"There is no comment {path} in topic {topic_id}")
        row: Mapping[str, Any] = rows[0]
        return row

    def _update(self, client: YtClient, comment: Mapping[str, Any], values: Mapping[str, Any]) -> YsonUint64:
        """Write some columns of a comment, and when it and its topic have been updated, which is returned."""
        update_time = YsonUint64(self._now())
        row = {
            "topic_id": comment["topic_id"],
            "parent_path": comment["parent_path"],
            "update_time": update_time,
            **values,
        }
        client.insert_rows(self._tables.topic_comments, [row], update=True)
        topic = {"topic_id": comment["topic_id"], "update_time": update_time}
        client.insert_rows(self._tables.topics, [topic], update=True)
        return update_time

    def _subtree(self, client: YtClient, request: TopicComments) -> list[dict[str, Any]]:
        query = f"""
            parent_path, comment_id, parent_id, content, user, views_count, update_time, deleted
            from [{self._tables.topic_comments}] where topic_id = {{topic_id}}"""
        placeholders = {"topic_id": request.topic_id}
        if request.parent_path is not None:
            # One range of keys: a path is followed by a slash in those below it, and next to the slash comes the zero.
            query += " and parent_path >= {first} and parent_path < {beyond}"
            placeholders |= {"first": request.parent_path, "beyond": f"{request.parent_path}0"}
        rows = [dict(row) for row in client.select_rows(query, placeholder_values=placeholders)]
        # A path that nobody has may still begin others: "0/" does.
        if request.parent_path is not None and request.parent_path not in (row["parent_path"] for row in rows):
            return []
        return rows

    def _count_views(self, client: YtClient, topic_id: str, paths: Sequence[str]) -> None:
        rows = [{"topic_id": topic_id, "parent_path": path, "views_count": 1} for path in paths]
        for attempt in range(VIEW_ATTEMPTS):
            try:
                client.insert_rows(self._tables.topic_comments, rows, update=True, aggregate=True)
                return
            except YtError as error:
                if not is_conflict(error) or attempt == VIEW_ATTEMPTS - 1:
                    raise


def _index_row(comment: Mapping[str, Any], update_time: YsonUint64) -> dict[str, Any]:
    """The row of `user_comments`; its hash is computed by the cluster."""
    return {
        "user": comment["user"],
        "topic_id": comment["topic_id"],
        "parent_path": comment["parent_path"],
        "update_time": update_time,
    }


def _content(row: Mapping[str, Any]) -> str:
    return "" if row["deleted"] else str(row["content"])
