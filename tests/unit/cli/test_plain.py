"""No text of strangers moves the cursor, turns the direction of writing or hides in a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.cli.plain import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("//home/очередь", "//home/очередь"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u202erow\u200b\u2028", "\\u202erow\\u200b\\u2028"),
        ("\x9b31m\r\n", "\\x9b31m\\r\\n"),
        ("\ud800", "\\ud800"),
    ],
)
def test_only_what_shows_as_itself_stays(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_documents_are_cleaned_to_the_last_key() -> None:
    assert plain({"\x1b": [{"a": "\x07"}, 5, None, 1.5]}) == {"\\x1b": [{"a": "\\x07"}, 5, None, 1.5]}
    assert plain("a" * 10, 5) == "aaaa…"


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_cleaning_again_changes_nothing(document: Any) -> None:
    assert plain(plain(document)) == plain(document)
