from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_agent.adapters.cluster.queries import quote_path, quote_string, split_list
from yt_wire.ypath import escape_literal, unescape_literal


@pytest.mark.parametrize(
    ("path", "quoted"),
    [
        ("//home/app/events", "[//home/app/events]"),
        (r"//tmp/a\[0]", r"[//tmp/a\x5b0\x5d]"),
        (r"//tmp/a\]", r"[//tmp/a\x5d]"),
        (r"//tmp/a\/b\\", r"[//tmp/a\/b\\]"),
        (r"//tmp/a\\]", r"[//tmp/a\\\x5d]"),
    ],
)
def test_brackets_in_a_path_do_not_end_its_quotation(path: str, quoted: str) -> None:
    assert quote_path(path) == quoted


@given(st.text(alphabet="a[]\\/@&*{é\n", min_size=1))
def test_a_quoted_path_names_the_same_key(key: str) -> None:
    quoted = quote_path("//tmp/" + escape_literal(key))
    inside = quoted[1:-1]
    assert "[" not in inside
    assert "]" not in inside
    assert unescape_literal(inside.removeprefix("//tmp/")) == key


@pytest.mark.parametrize(
    ("text", "quoted"),
    [("pythia", '"pythia"'), ('a"b\\c', '"a\\"b\\\\c"'), ("a\nb", '"a\\x0ab"'), ("путь", '"путь"')],
)
def test_strings_are_quoted_so_that_they_end_where_they_should(text: str, quoted: str) -> None:
    assert quote_string(text) == quoted


@given(st.lists(st.text(max_size=20)), st.integers(min_value=1, max_value=60))
def test_pieces_of_a_list_are_short_enough_and_make_up_the_list(items: list[str], max_length: int) -> None:
    pieces = list(split_list(items, max_length))
    assert [item for piece in pieces for item in piece] == items
    assert all(len(", ".join(piece)) <= max_length or len(piece) == 1 for piece in pieces)
