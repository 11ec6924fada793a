"""What a survey refuses to compare."""

from __future__ import annotations

import pytest

from queue_agent.controllers.exports.survey import survey_queue
from queue_agent.core.exports.progress import NOTHING_EXPORTED
from queue_agent.core.exports.source import TabletChunks
from queue_agent.errors import ClusterError
from tests.unit.controllers.export_fakes import FakeExports


async def test_chunk_lists_of_another_number_of_tablets_are_not_compared() -> None:
    cluster = FakeExports()
    cluster.tablet_ids, cluster.tablets, cluster.ends = (
        [["t0"]],
        [[TabletChunks("a", []), TabletChunks("b", [])]],
        [0, 0],
    )
    with pytest.raises(ClusterError, match="have just changed"):
        await survey_queue(cluster, cluster.queue, NOTHING_EXPORTED, ["t0"])


async def test_ends_of_another_number_of_tablets_are_not_compared() -> None:
    cluster = FakeExports()
    cluster.tablet_ids, cluster.tablets, cluster.ends = [["t0"]], [[TabletChunks("a", [])]], [0, 7]
    with pytest.raises(ValueError, match="zip"):
        await survey_queue(cluster, cluster.queue, NOTHING_EXPORTED, ["t0"])
