"""The methods of the service, one table for the server and for its description."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from examples.comment_service.api_models import (
    DeleteComment,
    EditComment,
    Empty,
    LastTopics,
    LastUserComments,
    Parameters,
    PostComment,
    PostedComment,
    Topic,
    TopicComment,
    TopicComments,
    UserComment,
)
from examples.comment_service.store import CommentStore


@dataclass(frozen=True, slots=True)
class Method:
    """One method over HTTP."""

    name: str
    verb: Literal["GET", "POST"]
    """GET takes its parameters from the address, POST from a document."""
    summary: str
    parameters: type[Parameters]
    answer: TypeAdapter[Any]
    run: Callable[[CommentStore, Any], Any]
    """Does the work, in a thread; raises CommentServiceError."""
    status: int = 200
    failures: Sequence[int] = (400, 404, 409, 503, 524)
    """Codes it may be answered with if it is not done."""

    @property
    def path(self) -> str:
        """Where it is."""
        return f"/{self.name}"


def _edit(store: CommentStore, parameters: EditComment) -> Empty:
    store.edit(parameters)
    return Empty()


def _delete(store: CommentStore, parameters: DeleteComment) -> Empty:
    store.delete(parameters)
    return Empty()


METHODS: Final = (
    Method(
        name="post_comment",
        verb="POST",
        summary="Add a comment",
        parameters=PostComment,
        answer=TypeAdapter(PostedComment),
        run=CommentStore.post,
        status=201,
    ),
    Method(
        name="edit_comment",
        verb="POST",
        summary="Give a comment another text",
        parameters=EditComment,
        answer=TypeAdapter(Empty),
        run=_edit,
    ),
    Method(
        name="delete_comment",
        verb="POST",
        summary="Mark a comment as deleted",
        parameters=DeleteComment,
        answer=TypeAdapter(Empty),
        run=_delete,
    ),
    Method(
        name="topic_comments",
        verb="GET",
        summary="All comments of a topic, or a subtree of them",
        parameters=TopicComments,
        answer=TypeAdapter(list[TopicComment]),
        run=CommentStore.topic_comments,
    ),
    Method(
        name="last_user_comments",
        verb="GET",
        summary="The last comments of a user",
        parameters=LastUserComments,
        answer=TypeAdapter(list[UserComment]),
        run=CommentStore.last_user_comments,
        failures=(400, 503, 524),
    ),
    Method(
        name="last_topics",
        verb="GET",
        summary="The topics that were updated last",
        parameters=LastTopics,
        answer=TypeAdapter(list[Topic]),
        run=CommentStore.last_topics,
        failures=(400, 503, 524),
    ),
)
