"""`make run` has applications at work, so that every page of the web UI shows something."""

from __future__ import annotations

from pathlib import Path

import pytest
from yt.wrapper import YtClient, YtError

from queue_agent.playground.traffic import ANALYTICS, BILLING, FORGOTTEN, QUEUE
from tests.e2e.playground import connected, eventually, running


def _read_rate(client: YtClient, consumer: str) -> float:
    [queue] = client.get(f"{consumer}/@queue_consumer_status")["queues"].values()
    return float(queue["read_row_count_rate"]["1m_raw"])


@pytest.mark.slow
def test_the_demonstration_is_written_and_read_all_the_time(tmp_path: Path) -> None:
    def check(client: YtClient) -> None:
        try:
            status = client.get(f"{QUEUE}/@queue_status")
            read, read_later = _read_rate(client, BILLING), _read_rate(client, ANALYTICS)
        except (YtError, KeyError, ValueError) as error:  # the agent does not know all of them yet
            raise AssertionError from error
        assert status["write_row_count_rate"]["1m_raw"] > 0
        assert read > 0
        assert read_later == 0  # it stays two minutes behind
        assert [one["consumer"] for one in status["registrations"] if "error" in one] == [f"pythia:{FORGOTTEN}"]

    with (
        running(tmp_path, "--demo", clusters=("pythia",)) as playground,
        connected(playground.clusters["pythia"]) as client,
    ):
        eventually(lambda: check(client))
