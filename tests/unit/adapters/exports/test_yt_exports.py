"""Lists of chunks as masters tell them."""

from __future__ import annotations

import pytest

from queue_agent.adapters.exports.yt_exports import tablet_chunks
from queue_agent.core.exports.source import TabletChunks
from queue_agent.errors import ClusterError
from yt_wire import yson


def test_gaps_and_rows_that_are_not_flushed_are_no_chunks() -> None:
    tree = yson.loads(
        b'<id="1-2-3-4";rank=1;type=chunk_list>[#;#;"5-5-64-5";"6-6-64-6";'
        b'<type=dynamic_store;flushed=%false;tablet_id="7-7-2be-7">"8-8-5dd-8"]'
    )
    assert tablet_chunks(tree) == TabletChunks("1-2-3-4", ["5-5-64-5", "6-6-64-6"])
    assert tablet_chunks(yson.loads(b'<id="1-2-3-4";type=chunk_list>[]')).chunk_ids == []


def test_what_is_not_a_whole_chunk_is_not_taken_for_one() -> None:
    tree = yson.loads(b'<id="1-2-3-4";type=chunk_list>[<id="5-5-7b-5";type=chunk_view>["6-6-64-6"]]')
    with pytest.raises(ClusterError, match="1-2-3-4 has a chunk_view among its chunks"):
        tablet_chunks(tree)
