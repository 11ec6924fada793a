"""Tablets of ordered tables: their states, and how many there are."""

from __future__ import annotations

from typing import Any

import pytest
from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from tests.conformance.harness import make_queue, refused, rows_of
from tests.conformance.ordered_tables import WEIGHT, WORDS, info, pull, pull_all, write


def test_an_unmounted_table_takes_no_rows_and_gives_none(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, "a")
    client.unmount_table(path, sync=True)
    assert client.get(f"{path}/@tablet_state") == "unmounted"
    assert "cell_id" not in client.get(f"{path}/@tablets/0")
    with refused(1702, path):
        write(client, path, "b")
    with refused(1702, path, "unmounted"):
        write(client, path, "b", tablet=0)
    for read in (lambda: pull(client, path), lambda: rows_of(client, f"* from [{path}]"), lambda: info(client, path)):
        with refused(1702, path):
            read()
    client.mount_table(path, sync=True)
    assert [row["data"] for row in pull(client, path)] == ["a"]


def test_a_frozen_table_is_read_only(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, "a")
    client.freeze_table(path, sync=True)
    assert client.get(f"{path}/@tablet_state") == "frozen"
    with refused(1702):
        write(client, path, "b")
    assert len(pull_all(client, path)) == len(rows_of(client, f"* from [{path}]")) == 1
    assert info(client, path)["total_row_count"] == 1
    client.unfreeze_table(path, sync=True)
    write(client, path, "b")
    assert len(pull_all(client, path)) == 2


def test_commands_repeat_themselves_harmlessly_in_the_target_state(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    for verb in ("mount", "mount", "remount", "freeze", "freeze", "unfreeze", "unfreeze", "unmount", "unmount"):
        getattr(client, f"{verb}_table")(path)
    client.mount_table(path, freeze=True, sync=True)
    assert client.get(f"{path}/@tablet_state") == "frozen"


def test_states_that_do_not_follow_each_other_are_refused(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    client.unmount_table(path, sync=True)
    for verb in ("freeze", "unfreeze"):
        with pytest.raises(YtClientError):
            getattr(client, f"{verb}_table")(path)
    assert client.get(f"{path}/@tablet_state") == "unmounted"


def test_a_part_of_the_tablets_changes_state(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=3)
    client.unmount_table(path, first_tablet_index=1, last_tablet_index=2, sync=True)
    assert client.get(f"{path}/@tablet_state") == "mixed"
    assert client.get(f"{path}/@tablet_count_by_state") == {"mounted": 1, "unmounted": 2}
    assert [tablet["state"] for tablet in client.get(f"{path}/@tablets")] == ["mounted", "unmounted", "unmounted"]
    write(client, path, "a", tablet=0)
    with refused(1702):
        write(client, path, "a", tablet=2)
    with pytest.raises(YtClientError):
        client.mount_table(path, first_tablet_index=2, last_tablet_index=3)


def test_growing_adds_empty_tablets_behind(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q")
    write(client, path, *WORDS)
    client.unmount_table(path, sync=True)
    client.reshard_table(path, tablet_count=3, sync=True)
    client.mount_table(path, sync=True)
    assert [info(client, path, index)["total_row_count"] for index in range(3)] == [5, 0, 0]
    assert [tablet["index"] for tablet in client.get(f"{path}/@tablets")] == [0, 1, 2]


def test_new_tablets_can_start_behind_zero(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=2, trimmed_row_counts=[7, 0], cumulative_data_weights=[100, 0])
    assert info(client, path)["trimmed_row_count"] == info(client, path)["total_row_count"] == 7
    write(client, path, "foo", tablet=0)
    assert pull(client, path)[0]["$row_index"] == 7
    assert pull(client, path)[0][WEIGHT] == 120
    assert not client.exists(f"{path}/@trimmed_row_counts")
    client.unmount_table(path, sync=True)
    client.reshard_table(path, tablet_count=3, trimmed_row_counts=[5], cumulative_data_weights=[50])
    client.mount_table(path, sync=True)
    write(client, path, "foo", tablet=2)
    (row,) = pull(client, path, partition=2)
    assert (row["$row_index"], row[WEIGHT]) == (5, 70)


@pytest.mark.parametrize(
    "attributes",
    [
        {"tablet_count": 0},
        {"tablet_count": -1},
        {"tablet_count": "many"},
        {"tablet_count": 2, "trimmed_row_counts": [1]},
        {"tablet_count": 1, "trimmed_row_counts": [-1]},
        {"tablet_count": 1, "cumulative_data_weights": "x"},
        {"tablet_count": 10**9},
    ],
)
def test_tablets_that_make_no_sense_are_refused(client: YtClient, home: str, attributes: dict[str, Any]) -> None:
    with pytest.raises(YtClientError):
        make_queue(client, f"{home}/q", **attributes)
    assert client.list(home) == []


def test_shrinking_appends_the_rows_of_dropped_tablets(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=3)
    for index, word in enumerate(("a", "bb", "ccc")):
        write(client, path, word, tablet=index)
    client.unmount_table(path, sync=True)
    client.reshard_table(path, tablet_count=1, sync=True)
    client.mount_table(path, sync=True)
    rows = pull_all(client, path)
    assert [row["data"] for row in rows] == ["a", "bb", "ccc"]
    assert [row["$row_index"] for row in rows] == [0, 1, 2]
    assert [row[WEIGHT] for row in rows] == [18, 37, 57]
    write(client, path, "d")
    assert pull(client, path, offset=3)[0][WEIGHT] == 75


@pytest.mark.parametrize("tablet_count", [1, 3, 4])
def test_resharding_gives_the_tablets_of_the_range_new_ids(client: YtClient, home: str, tablet_count: int) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=5)
    write(client, path, "a", tablet=0)

    def tablet_ids() -> list[str]:
        return [tablet["tablet_id"] for tablet in client.get(f"{path}/@tablets")]

    before = tablet_ids()
    client.unmount_table(path, sync=True)
    client.reshard_table(path, tablet_count=tablet_count, first_tablet_index=0, last_tablet_index=2, sync=True)
    after = tablet_ids()
    assert len(after) == tablet_count + 2
    assert after[tablet_count:] == before[3:]
    assert not set(after[:tablet_count]) & set(before)
    client.mount_table(path, sync=True)
    assert [row["data"] for row in pull_all(client, path)] == ["a"]


def test_partly_trimmed_tablets_are_not_merged_away(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=2)
    write(client, path, *WORDS, tablet=1)
    client.trim_rows(path, 1, 2)
    tablet_id = client.get(f"{path}/@tablets/1/tablet_id")
    client.unmount_table(path, sync=True)
    with refused(1, tablet_id, "not fully trimmed"):
        client.reshard_table(path, tablet_count=1)
    client.mount_table(path, sync=True)
    assert len(pull(client, path, partition=1)) == 3
    client.trim_rows(path, 1, 5)
    client.unmount_table(path, sync=True)
    client.reshard_table(path, tablet_count=1)
    assert client.get(f"{path}/@tablet_count") == 1


def test_resharding_needs_all_tablets_unmounted(client: YtClient, home: str) -> None:
    path = make_queue(client, f"{home}/q", tablet_count=2)
    client.unmount_table(path, first_tablet_index=0, last_tablet_index=0, sync=True)
    with refused(1706, "unmounted"):
        client.reshard_table(path, tablet_count=3)
    assert client.get(f"{path}/@tablet_count") == 2
