"""What exports would make now, as it is published."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queue_agent.core.exports.config import ExportConfig
from queue_agent.core.exports.planning import QueueChunk, TablePart
from queue_agent.core.exports.preview import ExportingMode, ExportPreview, OneExportPreview
from queue_agent.core.exports.schedule import EveryPeriod
from queue_agent.core.values.error_info import ErrorInfo
from queue_agent.core.values.refs import CrossClusterRef

NOW = datetime(2025, 1, 23, 12, tzinfo=UTC)
TICK = int(NOW.timestamp())
QUEUE = CrossClusterRef("pythia", "//tmp/q")
CONFIG = ExportConfig(EveryPeriod(60), "//tmp/x")
PART = TablePart(TICK, [QueueChunk("1-1", 0, 0, 5, 1, 50), QueueChunk("1-2", 1, 7, 3, 1, 30)])


def test_each_table_is_told_with_its_path_and_the_rows_it_would_have() -> None:
    preview = OneExportPreview(CONFIG, NOW, [PART], waiting_row_count=4, last_export_unix_ts=TICK - 60)
    assert preview.to_map() == {
        "directory": "//tmp/x",
        "last_export_unix_ts": TICK - 60,
        "next_export_unix_ts": int(NOW.timestamp()) // 60 * 60 + 60,
        "error": None,
        "tables": [
            {
                "path": f"//tmp/x/{TICK - 60}-60",
                "export_unix_ts": TICK,
                "chunk_count": 2,
                "row_count": 8,
                "data_weight": 80,
                "expiration_time": None,
            }
        ],
        "waiting_row_count": 4,
    }


@pytest.mark.parametrize("age", [timedelta(0), timedelta(days=3)])
def test_a_table_that_is_made_late_still_lives_as_long_as_it_should(age: timedelta) -> None:
    config = ExportConfig(EveryPeriod(60), "//tmp/x", ttl=timedelta(days=1))
    [table] = OneExportPreview(config, NOW + age, [PART]).to_map()["tables"]
    assert table["expiration_time"] == f"2025-01-{24 + age.days}T12:00:00.000000Z"


def test_exports_are_told_by_name_and_one_that_makes_nothing_says_why() -> None:
    broken = OneExportPreview(CONFIG, NOW, error=ErrorInfo("locked"))
    preview = ExportPreview(QUEUE, ExportingMode.OBSERVE, None, {"b": broken, "a": OneExportPreview(CONFIG, NOW)})
    document = preview.to_map()
    assert (document["cluster"], document["path"], document["error"]) == ("pythia", "//tmp/q", None)
    assert document["static_exports"] == "observe"
    assert list(document["exports"]) == ["a", "b"]
    assert document["exports"]["a"]["error"] is None
    assert document["exports"]["b"]["error"] == ErrorInfo("locked").to_map()


def test_a_queue_without_exports_that_asks_for_some_says_why() -> None:
    error = ErrorInfo("banned")
    document = ExportPreview(QUEUE, ExportingMode.EXPORT, error, {}).to_map()
    assert (document["static_exports"], document["error"], document["exports"]) == ("export", error.to_map(), {})
