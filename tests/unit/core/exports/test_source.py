"""Which queues can be exported, and which directories want them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.schedule import EveryPeriod
from queue_agent.core.exports.source import (
    Destination,
    ExportedQueue,
    find_destination_error,
    find_link_error,
    find_queue_error,
)

CONFIG = ExportConfig(EveryPeriod(60), "//d")


def test_queues_with_hunks_are_exported_where_that_is_asked_for() -> None:
    queue = ExportedQueue("1-1-1-1", "table", True, False, [], "2-2-2-2")
    hunks = [{"name": "a", "type": "string", "max_inline_hunk_size": 10}]
    assert find_queue_error("//q", queue, CONFIG) is None
    with_hunks = replace(queue, schema=hunks)
    assert find_queue_error("//q", with_hunks, CONFIG) == "Exporting queue //q that contains hunk columns is disabled"
    assert find_queue_error("//q", with_hunks, replace(CONFIG, enable_hunks=True)) is None


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"originating_queue_id": "1-1-1-1"}, "1-1-1-1"),
        ({"originating_queue_id": 5}, "5"),
        ({}, "0-0-0-0"),
        ("x", "0-0-0-0"),
    ],
)
def test_a_directory_names_the_queue_it_wants(config: object, named: str) -> None:
    destination = Destination("9-9-9-9", config, None)
    expected = (
        f"Destination config is not configured to accept exports from queue //q, configured id {named} does not match"
        " queue id 2-2-2-2"
    )
    assert find_destination_error("//q", "2-2-2-2", "//d", destination) == expected


def test_a_directory_that_names_no_queue_or_this_one() -> None:
    missing = (
        'Attribute "queue_static_export_destination" of //d is missing: it must name the queue to be exported there'
    )
    assert find_destination_error("//q", "2-2-2-2", "//d", Destination("9-9-9-9", None, None)) == missing
    named = Destination("9-9-9-9", {"originating_queue_id": "2-2-2-2"}, None)
    assert find_destination_error("//q", "2-2-2-2", "//d", named) is None


def test_only_ordered_dynamic_tables_are_exported() -> None:
    queue = ExportedQueue("1-1-1-1", "table", True, False, [], "2-2-2-2")
    for changed, words in (
        (replace(queue, type="replicated_table"), 'Invalid type of //q: expected "table", "replicated_table" found'),
        (replace(queue, dynamic=False), "Queue //q should be a dynamic table"),
        (replace(queue, sorted=True), "Queue //q should be an ordered dynamic table"),
    ):
        assert find_queue_error("//q", changed, CONFIG) == words


def test_a_link_is_no_directory_to_export_to() -> None:
    directory = Destination("9-9-9-9", None, None)
    assert find_link_error("//d", "9-9-9-9", directory) is None
    assert find_link_error("//d&", "8-8-8-8", directory) == "//d& is a link. Name the directory it leads to"
