"""Verification that looks only at what came since the last one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queue_agent.spark.export.compaction import Compactor
from queue_agent.spark.export.documents import Replaced
from queue_agent.spark.export.incremental import Verified, check_replaced
from queue_agent.spark.export.planning import BatchLimits
from queue_agent.spark.export.verification import Verdict, verify
from tests.unit.spark.export_fakes import EXPORT, ExportWorld, MemoryStorage

LIMITS = BatchLimits(4, 4)


def export(world: ExportWorld, count: int = 6) -> None:
    world.queue.write(0, count)
    world.exporter(limits=LIMITS).catch_up()


def compact(world: ExportWorld, grace: timedelta = timedelta(0)) -> None:
    world.queue.now += timedelta(hours=2)
    world.exporter(limits=LIMITS).catch_up()
    Compactor(world.archive(), lambda: world.queue.now, lambda: None).run(1 << 20, grace)


def check(world: ExportWorld, since: Verified | None = None, *, deep: bool = True) -> Verdict:
    return verify(world.archive(), "v1", tablet_ids=world.queue.tablet_ids, deep=deep, since=since)


def whole(world: ExportWorld, since: Verified | None = None, *, deep: bool = True) -> Verified:
    """What a verification that finds no fault keeps."""
    verdict = check(world, since, deep=deep)
    assert verdict.faults == []
    assert verdict.verified is not None
    return verdict.verified


def edit(world: ExportWorld, name: str, change: Callable[[dict[str, object]], object]) -> None:
    path = f"{EXPORT}/{name}"
    document = json.loads(world.storage.contents[path])
    change(document)
    world.storage.contents[path] = json.dumps(document).encode()


def test_only_files_of_later_manifests_are_opened(world: ExportWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    export(world)
    since = whole(world)
    export(world)
    opened: list[str] = []
    open_file = MemoryStorage.open

    def watched(storage: MemoryStorage, path: str) -> object:
        opened.append(path)
        return open_file(storage, path)

    monkeypatch.setattr(MemoryStorage, "open", watched)
    found = check(world, since)
    assert found.is_whole
    assert [path.rpartition("/")[2][:26] for path in opened] == [
        "00000-00000000000000000006",
        "00000-00000000000000000010",
    ]
    assert (found.rows, found.manifests, found.ranges) == (6, 2, {0: (0, 12)})
    assert "all 2 earlier files that count are still there" in found.checked
    assert "Not checked: the content of 6 rows up to manifest 1" in found.checked


def test_a_check_in_which_nothing_is_new_claims_no_files(world: ExportWorld) -> None:
    export(world)
    found = check(world, whole(world))
    assert found.is_whole
    assert "there is no file to check" in found.checked


def test_what_is_kept_survives_being_written_down(world: ExportWorld) -> None:
    export(world)
    verified = replace(whole(world), verified_at="2026-01-31T07:00:00+00:00")
    world.archive().save_verified(verified)
    assert world.archive().find_verified() == verified
    assert check(world).notes == []  # it is a document of the export, and no stranger


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.sampled_from(["export", "compact", "wait", "verify", "partition"]), min_size=1, max_size=8))
def test_step_by_step_finds_and_keeps_what_one_look_at_all_of_it_does(steps: list[str]) -> None:
    world = ExportWorld()
    export(world)
    since = whole(world)
    for step in steps:
        match step:
            case "export":
                export(world)
            case "compact":
                compact(world)
            case "wait":  # replaced files stay, until one is merged without grace
                compact(world, timedelta(days=1))
            case "partition":
                world.queue.write(1, 3)
                export(world)
            case "verify":
                since = whole(world, since)
    assert whole(world, since) == whole(world)


def data_files(world: ExportWorld) -> list[str]:
    return sorted(path for path in world.storage.contents if path.endswith(".parquet"))


def test_an_earlier_file_that_is_gone_is_missed(world: ExportWorld) -> None:
    export(world)
    since = whole(world)
    export(world)
    gone = data_files(world)[0]
    del world.storage.contents[gone]
    found = check(world, since)
    assert found.faults[0] == f"{gone.removeprefix(f'{EXPORT}/')} is missing: rows 0 to 3 of partition 0 are lost"
    assert found.notes[0].startswith("dt=2026-01-31/hour=07: other files than at")
    assert found.verified is None


def test_a_file_that_was_replaced_before_is_not_replaced_again(world: ExportWorld) -> None:
    export(world)
    unmerged = whole(world)
    compact(world)
    since = whole(world, unmerged)
    compacted = json.loads(world.storage.contents[f"{EXPORT}/_manifest/000000000002.json"])
    [file] = compacted["files"]
    again = {**file, "path": file["path"].replace(".r000000000002", ".r000000000003")}
    world.storage.contents[f"{EXPORT}/{again['path']}"] = world.storage.contents[f"{EXPORT}/{file['path']}"]
    document = {**compacted, "batch_id": 3, "number": 3, "files": [again]}
    world.storage.contents[f"{EXPORT}/_manifest/000000000003.json"] = json.dumps(document).encode()
    found = check(world, since)
    assert any("have rows in common" in fault for fault in found.faults), found.faults


def test_a_file_in_no_manifest_is_looked_at_once(world: ExportWorld) -> None:
    export(world)
    since = whole(world)
    stranger = data_files(world)[0].replace("-00000000000000000004.", "-00000000000000000003.")
    world.storage.contents[stranger] = b""
    found = check(world, since)
    assert found.manifests == 2
    assert f"{stranger.removeprefix(f'{EXPORT}/')} is in no manifest" in found.notes
    assert found.verified is not None
    assert check(world, found.verified).manifests == 0
    del world.storage.contents[stranger]
    assert check(world, found.verified).manifests == 0


def test_files_of_a_batch_at_work_are_nothing_that_changed(world: ExportWorld) -> None:
    export(world)
    since = whole(world)
    first = data_files(world)[0]
    for name in (
        "00000-00000000000000000006-00000000000000000009",
        "00000-00000000000000000000-00000000000000000006.r000000000002",
    ):
        world.storage.contents[f"{first.rpartition('/')[0]}/{name}.parquet"] = b""
    assert check(world, since).manifests == 0


def test_replaced_files_may_go_at_any_time(world: ExportWorld) -> None:
    export(world)
    since = whole(world)
    compact(world, timedelta(days=1))
    since = whole(world, since)
    assert len(since.others) == 2
    for path in since.others:
        del world.storage.contents[f"{EXPORT}/{path}"]
        assert check(world, since).manifests == 0
    assert whole(world, since).others == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ranges": [{"partition": 0, "begin": 7, "end": 10}]}, "rows 6 to 6 of partition 0 are in no manifest"),
        ({"ranges": [{"partition": 0, "begin": 5, "end": 10}]}, "rows 5 to 5 of partition 0 are in more than one"),
        ({"tablets": {"0": "another"}}, "another"),
        ({"query_id": "another"}, "manifest 2 belongs to another export"),
    ],
)
def test_a_later_manifest_must_go_on_where_the_earlier_ones_end(
    world: ExportWorld, change: dict[str, object], words: str
) -> None:
    export(world)
    since = whole(world)
    export(world)
    edit(world, "_manifest/000000000002.json", lambda document: document.update(change))
    found = check(world, since)
    assert any(words in fault for fault in found.faults), found.faults
    assert found.verified is None


def test_a_manifest_that_was_there_and_is_gone_is_missed(world: ExportWorld) -> None:
    export(world)
    since = whole(world)
    del world.storage.contents[f"{EXPORT}/_manifest/000000000001.json"]
    assert check(world, since).faults == ["manifest 1 is missing"]


def test_rows_of_earlier_files_are_counted_where_they_are_replaced(world: ExportWorld) -> None:
    export(world)
    since = whole(world)
    compact(world)
    assert check(world, since).is_whole

    def drop_one(document: dict[str, object]) -> None:
        replaced = document["replaces"]
        assert isinstance(replaced, list)
        del replaced[0]

    edit(world, "_manifest/000000000002.json", drop_one)
    assert any("rows of partition 0 were exported, the files have" in fault for fault in check(world, since).faults)


def test_only_what_an_earlier_manifest_can_have_brought_is_replaced() -> None:
    since = Verified("export", 3, ranges={0: (10, 20)})
    inside, beyond = (f"dt=2026-01-31/{0:05}-{begin:020}-{begin + 5:020}.parquet" for begin in (10, 16))
    assert check_replaced(since, [Replaced(inside, 5)]) == []
    assert check_replaced(since, [Replaced(inside, 5)] * 2) == [f"{inside} is replaced 2 times"]
    assert check_replaced(since, [Replaced(beyond, 5)]) == [f"{beyond} is replaced, and no manifest brought it"]
    assert check_replaced(since, [Replaced("notes", 5)]) == ["notes is replaced, and no manifest brought it"]


def test_footers_are_no_ground_for_a_check_of_all_data(world: ExportWorld) -> None:
    export(world)
    shallow = whole(world, deep=False)
    assert check(world, shallow, deep=True).manifests == 2
    assert check(world, shallow, deep=False).manifests == 0
    deep = whole(world)
    export(world)
    found = check(world, deep, deep=False)
    assert (found.manifests, found.verified) == (2, None)  # what read all data is not given up for less


def test_what_is_kept_of_another_export_does_not_count(world: ExportWorld) -> None:
    export(world)
    assert check(world, replace(whole(world), export_id="another")).manifests == 2


def test_a_complete_hour_is_compared_with_rows_of_both_times(world: ExportWorld) -> None:
    export(world)
    since = whole(world)
    compact(world)
    name = "_complete/dt=2026-01-31/hour=07.json"
    assert check(world, since).closed_periods == 1
    edit(world, name, lambda document: document.update(rows=5))
    assert check(world, since).faults == ["dt=2026-01-31/hour=07 is said to be complete with 5 rows and has 6"]
