"""Keys of a queue's configuration that mean nothing are named, with the known ones they resemble."""

from __future__ import annotations

from typing import Any

from queue_agent.core.queues.config_keys import UNKNOWN_CONFIG_KEYS, find_key_alerts, find_unknown_keys
from queue_agent.core.state.rows import QueueRow
from queue_agent.core.values.refs import CrossClusterRef


def row(trim: Any = None, exports: Any = None) -> QueueRow:
    return QueueRow(CrossClusterRef("hume", "//tmp/q"), auto_trim_config=trim, static_export_config=exports)


def test_known_keys_and_absent_configurations_raise_no_alert() -> None:
    export = {"export_directory": "//tmp/x", "export_period": 60_000, "export_name": "x"}
    trim = {"enable": True, "retained_rows": 5, "retained_lifetime_duration": 1000}
    assert find_key_alerts(row()) == find_key_alerts(row(trim, {"x": export})) == {}


def test_a_misspelt_key_is_named_with_the_one_it_resembles() -> None:
    found = find_unknown_keys(row({"enabl": True, "zzz": 1}, {"x": {"export_perod": 60_000}, "y": 5}))
    assert [str(one) for one in found] == [
        '@auto_trim_config/enabl (did you mean "enable"?)',
        "@auto_trim_config/zzz",
        '@static_export_config/x/export_perod (did you mean "export_period"?)',
    ]


def test_an_alert_names_ten_keys_and_counts_the_rest() -> None:
    assert find_key_alerts(row({"enabl": True}))[UNKNOWN_CONFIG_KEYS].message == (
        'The agent ignores unknown keys: @auto_trim_config/enabl (did you mean "enable"?)'
    )
    message = find_key_alerts(row({f"zz{index:02}": 1 for index in range(12)}))[UNKNOWN_CONFIG_KEYS].message
    assert "zz09" in message
    assert "zz10" not in message
    assert message.endswith("; and 2 more")


def test_keys_reach_terminals_without_control_characters_and_cut_short() -> None:
    control, long = find_unknown_keys(row({"\x1b[2J": 1, "z" * 1000: 1}))
    assert "\x1b" not in str(control)
    assert len(str(long)) < 200
