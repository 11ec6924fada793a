"""A document laid over a configuration."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.core.state.dynamic_config import fetch_alert, invalid_alert, overlay, unrecognized_remark
from queue_agent.core.values.error_info import ErrorInfo, Origin

OWN = {
    "cypress_synchronizer": {"enable": True, "clusters": None, "write_replicated_table_mapping": False},
    "queue_agent": {"pass_period": 1000, "controller": {"pass_period": 1000, "trimming_period": None}},
}
KEYS = st.sampled_from(["cypress_synchronizer", "queue_agent", "controller", "pass_period", "enable", "other"])
DOCUMENTS = st.recursive(
    st.integers() | st.none(), lambda inner: st.dictionaries(KEYS, inner, max_size=4), max_leaves=9
)


def test_what_the_document_does_not_name_keeps_its_value() -> None:
    result = overlay(OWN, {"queue_agent": {"controller": {"trimming_period": 5}}})
    assert result.sections == {
        **OWN,
        "queue_agent": {"pass_period": 1000, "controller": {"pass_period": 1000, "trimming_period": 5}},
    }
    assert result.unrecognized == ()


def test_what_means_nothing_is_named_and_left_out() -> None:
    document = {"queue_agent": {"controller_thread_count": 4, "controller": {"x": {"y": 1}}}, "member_client": {}}
    result = overlay(OWN, document)
    assert result.sections == OWN
    assert result.unrecognized == ("member_client", "queue_agent/controller/x", "queue_agent/controller_thread_count")


def test_an_older_name_of_an_option_is_known() -> None:
    result = overlay(OWN, {"cypress_synchronizer": {"write_registration_table_mapping": True}})
    assert result.sections["cypress_synchronizer"]["write_replicated_table_mapping"] is True


@given(document=st.dictionaries(KEYS, DOCUMENTS, max_size=4))
def test_every_section_is_there_once_and_a_second_time_changes_nothing(document: dict[str, Any]) -> None:
    once = overlay(OWN, document)
    assert set(once.sections) == set(OWN)
    assert overlay(once.sections, document).sections == once.sections
    assert overlay(OWN, {}).sections == OWN


def test_each_thing_that_is_wrong_with_a_document_has_a_code_of_its_own() -> None:
    origin = Origin("agent-1", 481, 7, "Controller:0", 8, "1-2-3-4", 9, datetime(2025, 1, 23, tzinfo=UTC))
    cause = ErrorInfo("access denied", 901)
    fetch, invalid = fetch_alert(cause, origin), invalid_alert(cause, origin)
    assert fetch.inner_errors == invalid.inner_errors == (cause,)
    remark = unrecognized_remark(["queue_agent/x"], origin)
    assert remark.attributes["unrecognized_options"] == ["queue_agent/x"]
    assert (fetch.code, remark.code, invalid.code) == (2600, 2602, 2604)
