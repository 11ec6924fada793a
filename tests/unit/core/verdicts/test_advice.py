from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.verdicts.advice import ADVICE_KEYS, Advice, Turn, command


@given(st.lists(st.text(st.characters(exclude_characters="\0"))))
def test_a_shell_takes_the_words_of_a_command_as_they_are(words: list[str]) -> None:
    advice = command(Turn.OWNER, tuple(words))
    assert advice.text is not None
    assert shlex.split(advice.text) == words


def test_the_second_command_needs_the_first() -> None:
    advice = command(Turn.OPERATOR, ("yt", "set", "//q/@a", "1"), ("yt", "remount-table", "//q; rm x"))
    assert advice == Advice(Turn.OPERATOR, "yt set //q/@a 1 && yt remount-table '//q; rm x'", is_command=True)


def test_words_are_published_as_words() -> None:
    advice = Advice(Turn.OWNER, "restart the reader")
    assert advice.to_map() == {"turn": "owner", "action": "restart the reader", "action_is_command": False}
    assert tuple(advice.to_map()) == ADVICE_KEYS
