"""What keys do, without a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.keys import Keys

from queue_agent.cli.watch_keys import Order, Screen, Shown, press

SHOWN = Shown(["x", "y", "z"], {"x": "hume://x", "y": "hume://y", "z": "hume://z"}, ["hume://1"], page=2, line_count=9)
KEYS = [*Keys, *"qkjgG?h/ps 129\u202e"]


@pytest.mark.parametrize(
    ("key", "selected"),
    [(Keys.Down, "y"), ("G", "z"), (Keys.PageDown, "y"), (Keys.Up, "x"), (Keys.Home, "x"), (Keys.F1, "")],
)
def test_rows_are_selected_within_the_list(key: str, selected: str) -> None:
    assert press(Screen(), key, SHOWN).selected == selected


def test_a_selected_row_that_is_gone_gives_way_to_the_first() -> None:
    assert press(Screen(selected="gone"), Keys.Enter, SHOWN).opened == ("hume://x",)
    assert press(Screen(), Keys.Enter, Shown()) == Screen()


def test_digits_open_links_and_escape_goes_back() -> None:
    opened = press(press(Screen(), Keys.Enter, SHOWN), "1", SHOWN)
    assert opened.opened == ("hume://x", "hume://1")
    assert press(opened, "2", SHOWN) == opened
    assert press(press(opened, Keys.Escape, SHOWN), Keys.Left, SHOWN).opened == ()


def test_an_opened_object_scrolls_to_its_last_line() -> None:
    opened = Screen(opened=("hume://x",))
    assert press(opened, "G", SHOWN).first_line == 7
    assert press(replace(opened, first_line=3), "g", SHOWN).first_line == 0


def test_a_filter_takes_letters_that_are_keys_elsewhere() -> None:
    screen = Screen()
    for key in "/qs?":
        screen = press(screen, key, SHOWN)
    assert (screen.words, screen.is_typing, screen.has_ended) == ("qs?", True, False)
    assert press(screen, Keys.Backspace, SHOWN).words == "qs"
    assert press(screen, Keys.Escape, SHOWN).words == ""


def test_sorting_comes_round() -> None:
    screen = Screen()
    for _ in Order:
        screen = press(screen, "s", SHOWN)
    assert screen == Screen()


@given(st.lists(st.sampled_from(KEYS), max_size=60))
def test_no_keys_lead_to_a_place_without_a_way_out(keys: list[str]) -> None:
    screen = Screen()
    for key in keys:
        screen = press(screen, key, SHOWN)
        assert len(screen.words) <= 200
        assert 0 <= screen.first_line <= 7
    assert press(screen, Keys.ControlC, SHOWN).has_ended
