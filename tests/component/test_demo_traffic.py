"""The applications of `make run`: what they write is read, by each at its own pace."""

from __future__ import annotations

from yt.wrapper import YtClient

from queue_agent.playground.traffic import ANALYTICS, ARCHIVE, BILLING, FORGOTTEN, QUEUE, REGIONS, Traffic
from yt_local.testing import LocalCluster


def _ends(client: YtClient) -> list[int]:
    return [tablet["total_row_count"] for tablet in client.get_tablet_infos(QUEUE, [0, 1, 2])["tablets"]]


def _offsets(client: YtClient, consumer: str) -> list[int]:
    rows = client.select_rows(f"partition_index, [offset] from [{consumer}]")
    return [row["offset"] for row in sorted(rows, key=lambda row: row["partition_index"])]


def test_one_application_reads_at_once_and_one_two_minutes_later(yt_cluster: LocalCluster) -> None:
    client = yt_cluster.client
    traffic = Traffic(client)
    traffic.prepare()
    now = yt_cluster.clock.seconds()
    for second in range(3):
        traffic.step(now + second)
    ends = _ends(client)
    assert min(ends) > 0
    assert _offsets(client, BILLING) == ends
    assert _offsets(client, ANALYTICS) == []
    yt_cluster.clock.advance(130)
    traffic.step(yt_cluster.clock.seconds())
    assert _offsets(client, ANALYTICS) == ends
    assert _offsets(client, BILLING) == _ends(client)


def test_applications_that_start_again_go_on(yt_cluster: LocalCluster) -> None:
    client = yt_cluster.client
    for _ in range(2):
        traffic = Traffic(client)
        traffic.prepare()
        traffic.step(yt_cluster.clock.seconds())
    ends = _ends(client)
    assert sum(ends) >= 12
    assert _offsets(client, BILLING) == ends


def test_every_page_has_something_to_show(yt_cluster: LocalCluster) -> None:
    client = yt_cluster.client
    Traffic(client).prepare()
    registered = {str(one["consumer_path"]): one["vital"] for one in client.list_queue_consumer_registrations(QUEUE)}
    assert {path.rpartition("/")[2]: vital for path, vital in registered.items()} == {
        "billing": True,
        "analytics": False,
        "forgotten": False,
    }
    assert not client.exists(FORGOTTEN)
    assert client.get(f"{QUEUE}/@static_export_config/archive/export_directory") == ARCHIVE
    assert client.row_count(REGIONS) == 4
