"""What may stand in `@auto_trim_config`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from queue_agent.core.state.trim_config import AutoTrimConfig


@pytest.mark.parametrize(
    "value",
    [
        {"enable": 1},
        {"enable": "yes"},
        {"retained_rows": -1},
        {"retained_rows": True},
        {"retained_rows": 1.5},
        {"retained_lifetime_duration": -1},
        {"retained_lifetime_duration": 1},
    ],
)
def test_a_config_that_makes_no_sense_is_refused(value: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match=f'"{next(iter(value))}"'):
        AutoTrimConfig.parse(value)


def test_a_config_that_is_absent_does_not_trim() -> None:
    assert AutoTrimConfig.parse(None) == AutoTrimConfig.parse({}) == AutoTrimConfig(enable=False)
    assert AutoTrimConfig.parse({"enable": True, "retained_rows": None}) == AutoTrimConfig(enable=True)


def test_a_boolean_may_be_written_as_a_word() -> None:
    assert AutoTrimConfig.parse({"enable": "true"}).enable
    assert not AutoTrimConfig.parse({"enable": "false"}).enable


def test_nothing_may_be_asked_to_be_kept_and_what_has_no_meaning_is_named() -> None:
    value = {"enable": True, "retained_rows": 0, "retained_lifetime_duration": 0, "retained_row": 5, "also": 1}
    config = AutoTrimConfig.parse(value)
    assert (config.retained_rows, config.retained_lifetime_duration) == (0, timedelta(0))
    assert AutoTrimConfig.unknown_keys(value) == ["also", "retained_row"]
