"""What requests say and what they are answered, as documents."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

MAX_CONTENT_LENGTH = 100_000
MAX_LIMIT = 1_000
DEFAULT_LIMIT = 10

_DATE_TIME = TypeAdapter(datetime)


def _posix_seconds(value: Any) -> Any:
    """Whole seconds of a date; numbers stay as they are. Without a time zone UTC is meant."""
    if not isinstance(value, str) or value.removeprefix("-").isdecimal():
        return value
    moment = _DATE_TIME.validate_python(value)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


Guid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,8}(-[0-9a-f]{1,8}){3}$")]
Path = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
Content = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CONTENT_LENGTH)]
UserName = Annotated[str, StringConstraints(min_length=1, max_length=256)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT)]
FromTime = Annotated[int, BeforeValidator(_posix_seconds), Field(ge=0, lt=2**63)]


class Document(BaseModel):
    """Something in JSON."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Parameters(Document):
    """What a request has to say; more than that is ignored."""


class PostComment(Parameters):
    """A new comment: an answer to another one, or the first of a new topic."""

    topic_id: Guid | None = None
    """The topic; without it a new one is begun."""
    parent_path: Path | None = None
    """The comment that is answered; needed with a topic, ignored without."""
    content: Content
    """The text."""
    user: UserName
    """Who has written it."""

    @model_validator(mode="after")
    def _answer_to_something(self) -> Self:
        if self.topic_id is not None and self.parent_path is None:
            raise ValueError("parent_path must be given with a topic_id")
        return self


class CommentParameters(Parameters):
    """Which comment is meant."""

    topic_id: Guid
    """Its topic."""
    parent_path: Path
    """Its path in the tree, its own number being the last."""


class EditComment(CommentParameters):
    """Another text for a comment."""

    content: Content
    """The text."""


class DeleteComment(CommentParameters):
    """The end of a comment; it keeps its place in the tree."""


class TopicComments(Parameters):
    """Which comments are wanted."""

    topic_id: Guid
    """Their topic."""
    parent_path: Path | None = None
    """The comment at the root of the subtree; without it all."""


class Last(Parameters):
    """How many are wanted, and since when."""

    limit: Limit = DEFAULT_LIMIT
    """At most so many."""
    from_time: FromTime = 0
    """Only what was updated after that: POSIX seconds, or a date and time (UTC unless it names a zone)."""


class LastTopics(Last):
    """Which topics are wanted."""

    to_time: FromTime | None = None
    """Only what comes after the topic `to_topic`, which was updated then: for the next page."""
    to_topic: Guid | None = None
    """The last topic of the page before."""

    @model_validator(mode="after")
    def _whole_position(self) -> Self:
        if (self.to_time is None) != (self.to_topic is None):
            raise ValueError("to_time and to_topic must be given together")
        return self


class LastUserComments(Last):
    """Which comments of a user are wanted."""

    user: UserName
    """Who has written them."""


class Empty(Document):
    """Nothing more to say."""


class PostedComment(Document):
    """Where a new comment has got."""

    comment_id: int
    """Its number in the topic; they are given in order, from 0."""
    new_topic: bool
    """Whether the topic is new, too."""
    parent_path: str
    """Its path in the tree."""
    topic_id: str
    """Its topic."""


class TopicComment(Document):
    """A comment in the tree."""

    comment_id: int
    parent_id: int
    """The comment it answers; its own number at the root."""
    content: str
    """Empty if it is deleted."""
    user: str
    view_count: int
    """How often it was requested, this time included."""
    update_time: int
    """POSIX seconds."""
    deleted: bool


class Topic(Document):
    """A topic, as its root comment."""

    topic_id: str
    content: str
    """Empty if the root comment is deleted."""
    user: str
    view_count: int
    update_time: int
    """When any comment of the topic was last updated, in POSIX seconds."""


class UserComment(Document):
    """A comment among others of its user."""

    comment_id: int
    topic_id: str
    content: str
    user: str
    view_count: int
    update_time: int
    """POSIX seconds."""


class ErrorDocument(Document):
    """Why a request was not done."""

    error: str
