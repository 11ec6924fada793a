from __future__ import annotations

import pytest

from queue_agent.core.access.identity import (
    ALWAYS_OPEN,
    NEVER_ANONYMOUS,
    SESSION,
    is_open,
    names_caller,
    read_authorization,
    read_token,
    read_user,
)


def test_what_is_open_depends_on_what_is_shown_to_everybody() -> None:
    assert is_open("/api/v1/queues", shows_status=True)
    assert not is_open("/api/v1/queues", shows_status=False)
    assert all(is_open(route, shows_status=False) for route in ALWAYS_OPEN)
    assert not any(is_open(route, shows_status=True) for route in NEVER_ANONYMOUS)
    assert not is_open("", shows_status=False)


def test_tokens_fit_into_a_header() -> None:
    assert read_token(" ytct-0000-abc\n") == "ytct-0000-abc"
    for token in (None, 5, "", " ", "a\r\nX-YT-User-Name: root", "a b", "t\u00f6ken", "a" * 4097):
        with pytest.raises(ValueError, match="the token must be") as refused:
            read_token(token)
        assert "root" not in str(refused.value)


def test_pages_and_health_are_the_same_for_everybody() -> None:
    assert names_caller(SESSION)
    assert names_caller("/api/v1/events")
    assert not names_caller("/metrics")
    assert not names_caller("/ui/{view}")


def test_a_program_sends_its_token_as_to_a_cluster() -> None:
    assert read_authorization([]) is None
    assert read_authorization(["Basic abc", ""]) is None
    assert read_authorization(["OAuth abc"]) == "abc"
    assert read_authorization(["oauth  abc ", "Basic abc"]) == "abc"
    assert read_authorization(["Bearer abc"]) == "abc"
    twice = ["OAuth abc", "OAuth abc"], ["OAuth abc", "Bearer abc"]
    for values in (*twice, ["OAuth "], ["OAuth"], ["OAuth a b"], ["OAuth " + "a" * 4097]):
        with pytest.raises(ValueError, match="token"):
            read_authorization(values)


def test_a_proxy_names_one_user() -> None:
    assert read_user([]) is None
    assert read_user(["ann@example.com"]) == "ann@example.com"
    for values in (["ann", "root"], ["ann, root"], [""], ["a\u202eb"], ["a" * 129], ["ann\tbob"]):
        with pytest.raises(ValueError, match="must hold one name"):
            read_user(values)
