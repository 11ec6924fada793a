"""Rows of the state tables as values."""

from __future__ import annotations

from queue_agent.core.state.rows import ConsumerNameRow, QueueRow, Registration, StateRows
from queue_agent.core.values.refs import CrossClusterRef

A, B = CrossClusterRef("pythia", "//a"), CrossClusterRef("pythia", "//b")


def test_registrations_are_in_order_of_queue_then_consumer() -> None:
    rows = [Registration(B, A, True), Registration(A, B, False, (1,)), Registration(A, A, True)]
    assert [(one.queue, one.consumer) for one in sorted(rows)] == [(A, A), (A, B), (B, A)]


def test_names_of_a_table_stand_together() -> None:
    rows = [ConsumerNameRow(B._replace(name="a")), ConsumerNameRow(A._replace(name="z")), ConsumerNameRow(A)]
    assert [str(one.consumer.path) + one.consumer.name for one in sorted(rows)] == ["//a", "//az", "//ba"]


def test_registrations_that_say_the_same_are_one() -> None:
    assert len({Registration(A, B, True, (1, 2)), Registration(A, B, True, (1, 2))}) == 1
    assert len({Registration(A, B, True, (1, 2)), Registration(A, B, True)}) == 2


def test_a_row_tells_a_cell_that_is_null_from_one_that_is_false_or_empty() -> None:
    assert QueueRow(A) != QueueRow(A, dynamic=False)
    assert QueueRow(A) != QueueRow(A, auto_trim_config={})


def test_what_need_not_be_read_is_something_else_than_what_could_not_be() -> None:
    assert StateRows([], [], []).mappings == ()
    assert StateRows([], [], [], mappings=None) != StateRows([], [], [])
