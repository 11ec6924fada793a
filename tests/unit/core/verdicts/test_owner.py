"""What owners of consumers say that they know."""

from __future__ import annotations

from typing import Any

import pytest

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.owner import (
    ACKNOWLEDGED,
    PROTECTED,
    is_protected,
    parse_acknowledged,
    put_entry,
    unknown_incidents,
)
from queue_agent.core.verdicts.rebuilding import Rebuild, RebuildKind
from queue_agent.core.verdicts.values import Loss, LossCause, encode_seconds
from yt_wire import yson

QUEUE = CrossClusterRef("pythia", "//tmp/q")
OTHER = CrossClusterRef("hume", "//tmp/q")
NOON = "2026-05-01T12:00:00.123456Z"
LATER = "2026-05-01T13:00:00.000000Z"
NOW = 1777640400.0
"""As `LATER`."""


def test_each_queue_and_each_consumer_of_several_has_an_entry_of_its_own() -> None:
    value: dict[str, Any] = put_entry(ACKNOWLEDGED, None, "", QUEUE, NOON)
    value = put_entry(ACKNOWLEDGED, value, "", OTHER, LATER)
    value = put_entry(ACKNOWLEDGED, value, "a", QUEUE, NOON)
    value = put_entry(ACKNOWLEDGED, value, "b", QUEUE, LATER)
    value = put_entry(ACKNOWLEDGED, value, "a", OTHER, NOON)
    value = put_entry(ACKNOWLEDGED, value, "a", QUEUE, LATER)
    assert value == {
        "pythia://tmp/q": NOON,
        "hume://tmp/q": LATER,
        "consumers": {"a": {"pythia://tmp/q": LATER, "hume://tmp/q": NOON}, "b": {"pythia://tmp/q": LATER}},
    }
    assert parse_acknowledged(value, "", NOW).keys() == {QUEUE, OTHER}
    assert parse_acknowledged(value, "a", NOW).keys() == {QUEUE, OTHER}
    assert parse_acknowledged(value, "b", NOW).keys() == {QUEUE}
    for nothing, name in ((value, "c"), (None, ""), (None, "a")):
        assert parse_acknowledged(nothing, name, NOW) == {}


@pytest.mark.parametrize("instant", [1777636800.1234567, 1777636800.1234563, 1777636800.0, 1.0000005])
def test_what_was_published_of_an_instant_covers_it(instant: float) -> None:
    value = put_entry(ACKNOWLEDGED, None, "", QUEUE, encode_seconds(instant))
    assert instant <= parse_acknowledged(value, "", NOW)[QUEUE] < instant + 0.0001


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (5, ""),
        ({"pythia://tmp/q": 5}, ""),
        ({"pythia://tmp/q": "yesterday"}, ""),
        ({"pythia://tmp/q": "2026-05-01T12:00:00"}, ""),
        ({"pythia://tmp/q": "2026-05-01T14:00:00Z"}, ""),  # an hour later than now: a wrong time zone
        ({"tmp": NOON}, ""),
        (yson.loads(b'{"\xff" = "2026-05-01T12:00:00Z"}'), ""),  # a key that is not UTF-8
        ({"consumers": []}, "a"),
        ({"consumers": {"a": 5}}, "a"),
    ],
)
def test_nonsense_is_an_error(value: Any, name: str) -> None:
    with pytest.raises(ValueError, match=r"expected|not a reference"):
        parse_acknowledged(value, name, NOW)


def test_nonsense_is_not_written_over() -> None:
    with pytest.raises(ValueError, match="expected a map, got 5"):
        put_entry(ACKNOWLEDGED, 5, "", QUEUE, NOON)


LOSS = Loss(1777636800.25, 1777636900.125, LossCause.TTL, None, 1840, 1800)
REBUILD = Rebuild(RebuildKind.RECREATION, 1777636850.5)


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (None, ["Lost 1,840 rows, 40 of them possibly, from", "The queue was created again at"]),
        (1777636850.0, ["Lost 1,840 rows, 40 of them possibly, from", "The queue was created again at"]),
        (1777636850.5, ["Lost 1,840 rows, 40 of them possibly, from"]),
        (1777636900.125, []),
    ],
)
def test_what_happened_until_the_owner_knows_is_not_told_again(known: float | None, told: list[str]) -> None:
    verdict = {"loss": LOSS.to_map(), "rebuild": REBUILD.to_map()}
    found = unknown_incidents(verdict, known)
    assert [words[: len(wanted)] for (words, _), wanted in zip(found, told, strict=True)] == told
    assert all(words.endswith(instant) for words, instant in found)


def test_without_incidents_there_is_nothing_to_know() -> None:
    assert unknown_incidents({"loss": None, "rebuild": None}, None) == []


def test_a_consumer_is_protected_in_the_queues_that_are_named() -> None:
    value = put_entry(PROTECTED, None, "", QUEUE, NOON)
    assert is_protected(value, "", QUEUE)
    assert not is_protected(value, "", OTHER)
    assert not is_protected(value, "a", QUEUE)
    value = put_entry(PROTECTED, value, "a", OTHER, NOON)
    assert is_protected(value, "a", OTHER)
    assert not is_protected(value, "a", QUEUE)
    assert is_protected({"<cluster=pythia>//tmp/q": None}, "", QUEUE)
    assert not is_protected(None, "", QUEUE)


@pytest.mark.parametrize("value", [5, True, ["pythia://tmp/q"], {"tmp": NOON}])
def test_a_protection_that_makes_no_sense_protects(value: Any) -> None:
    assert is_protected(value, "", QUEUE)
