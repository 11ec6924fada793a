"""JSON of others."""

from __future__ import annotations

import pytest

from queue_agent.cli.errors import CommandError
from queue_agent.cli.trim_plan import parse_policy
from yt_wire.json_text import MAX_DEPTH, loads


def nested(depth: int) -> str:
    return '{"a":[' * (depth // 2) + "1" + "]}" * (depth // 2)


def test_what_is_nested_as_clusters_allow_is_read() -> None:
    assert loads('{"a": [1, "x", null]}') == {"a": [1, "x", None]}
    loads(nested(MAX_DEPTH))


@pytest.mark.parametrize("text", [nested(MAX_DEPTH + 2), nested(900), nested(200_000), "[" * 200_000, "", "x", b"\xff"])
def test_anything_else_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


@pytest.mark.parametrize("text", ["[" * 200_000, nested(900), '{"a":' * 100_000])
def test_a_policy_that_is_nested_too_deeply_is_refused_in_words(text: str) -> None:
    with pytest.raises(CommandError, match="neither JSON nor YSON"):
        parse_policy(text)
