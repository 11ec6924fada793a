"""What requests of the HTTP interface say, read into values; YtError for what makes no sense."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from aiohttp import web

from queue_agent.core.group.questions import Question
from queue_agent.core.state.trim_config import AutoTrimConfig
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.values import Verdict
from yt_wire import json_text
from yt_wire.error import YtError

DEFAULT_LIMIT: Final = 100
MAX_LIMIT: Final = 1000

_VERSION_DIGITS: Final = 20


def read_ref(request: web.Request) -> CrossClusterRef:
    """The object that the address names."""
    path = "//" + request.match_info["path"].lstrip("/")
    return CrossClusterRef(request.match_info["cluster"], path, request.query.get("name", ""))


def read_policy(body: bytes) -> Mapping[str, Any] | None:
    """A policy in the form of `@auto_trim_config`; None for an empty body."""
    if not body.strip():
        return None
    try:
        value = json_text.loads(body)
    except ValueError as error:
        raise YtError(f"The policy is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise YtError("The policy is not a map")
    unknown = AutoTrimConfig.unknown_keys(value)
    if unknown:
        raise YtError(f"The policy has keys without a meaning: {', '.join(unknown)}")
    policy = {"enable": True, **value}
    try:
        AutoTrimConfig.parse(policy)
    except ValueError as error:
        raise YtError(f"The policy makes no sense: {error}") from error
    return policy


def read_limit(text: str | None) -> int:
    """Objects on a page."""
    if text is None:
        return DEFAULT_LIMIT
    limit = _parse_integer(text)
    if limit is None or not 1 <= limit <= MAX_LIMIT:
        raise YtError(f'Parameter "limit" must be a number from 1 to {MAX_LIMIT}')
    return limit


def read_integer(request: web.Request, name: str, default: int | None, least: int) -> int:
    """Parameter of the query; with a default of None it is required."""
    text = request.query.get(name)
    value = default if text is None else _parse_integer(text)
    if value is None or value < least:
        raise YtError(f'Parameter "{name}" must be a number of at least {least}')
    return value


def read_version(text: str | None) -> int | None:
    """Version of an earlier answer; None: none."""
    if text is not None and not (text.isascii() and text.isdigit() and len(text) < _VERSION_DIGITS):
        raise YtError('Parameter "since" must be a version of an earlier answer')
    return None if text is None else int(text)


def read_question(request: web.Request, name: str, body: str = "") -> Question:
    """A request as a question to agents."""
    return Question(name, {**request.query, **request.match_info}, body)


def read_verdicts(text: str | None) -> Collection[Verdict]:
    """Verdicts that are asked for, separated by commas; None: all."""
    if text is None:
        return frozenset(Verdict)
    try:
        return {Verdict(word) for word in text.split(",")}
    except ValueError:
        known = ", ".join(one.value for one in Verdict)
        raise YtError(f'Parameter "verdict" must be a list of {known}, separated by commas') from None


def _parse_integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
