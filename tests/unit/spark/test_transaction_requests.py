"""Which rows of a large batch go into which transaction."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from queue_agent.spark.requests import Request, TransactionLimits, next_requests
from yt_wire import yson

VALUES = st.lists(st.lists(st.binary(max_size=12), max_size=6), max_size=6)


def request(values: list[bytes]) -> Request:
    return Request(yson.dumps_rows([{b"data": value} for value in values]), len(values))


@given(batch=VALUES, row_limit=st.integers(1, 9), byte_limit=st.integers(1, 80))
def test_transactions_have_all_rows_in_their_order_and_keep_to_the_limits(
    batch: list[list[bytes]], row_limit: int, byte_limit: int
) -> None:
    requests = [request(values) for values in batch]
    limits = TransactionLimits(row_limit, byte_limit)
    expected = [value for values in batch for value in values]
    written: list[bytes] = []
    while len(written) < len(expected):
        taken = next_requests(requests, len(written), limits)
        row_count, byte_count = sum(one.row_count for one in taken), sum(len(one.rows) for one in taken)
        assert 1 <= row_count <= row_limit
        assert byte_count <= byte_limit or row_count == 1
        values = [row[b"data"] for one in taken for row in yson.loads_rows(one.rows)]
        assert len(values) == row_count
        written += values
    assert written == expected
    assert next_requests(requests, len(expected), limits) == []


def test_requests_are_taken_apart_only_if_they_are_too_large_by_themselves() -> None:
    requests = [request([b"a", b"b"]), request([b"c"]), request([b"d", b"e"])]

    assert next_requests(requests, 0, TransactionLimits(4, 1000)) == requests[:2]
    assert next_requests(requests, 3, TransactionLimits(4, 1000)) == requests[2:]
    assert next_requests(requests, 1, TransactionLimits(4, 1000)) == [request([b"b"]), *requests[1:]]
    assert next_requests(requests, 3, TransactionLimits(1, 1000)) == [request([b"d"])]
