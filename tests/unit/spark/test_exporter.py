"""What an exporter does with its queue and its directory, whoever writes the files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from threading import Event

import pytest

from queue_agent.spark.errors import ColumnError, OptionError
from queue_agent.spark.export.documents import ExportFile, Plan, Range
from queue_agent.spark.export.errors import ExportError, RangeRefused, SourceChanged, TargetDamaged, TargetTaken
from queue_agent.spark.export.exporter import Exporter
from queue_agent.spark.export.parquet_writer import FileSettings
from queue_agent.spark.export.planning import BatchLimits
from queue_agent.spark.options import TypeOptions
from tests.unit.spark.export_fakes import SCHEMA, START, Crash, ExportWorld, verdict
from tests.unit.spark.exported_rows import compact, live_rows, rows

FOUR = BatchLimits(4, 4)
HOUR = timedelta(hours=1)


def test_a_manifest_says_which_rows_are_in_which_file(world: ExportWorld) -> None:
    world.queue.write(0, 3)
    world.exporter().catch_up()
    content = world.storage.contents["alpha/home/queue/v1/_manifest/000000000000.json"]
    manifest = json.loads(content)
    [file] = manifest["files"]
    assert (manifest["batch_id"], manifest["ranges"]) == (0, [{"partition": 0, "begin": 0, "end": 3}])
    assert file["path"] == "dt=2026-01-31/hour=07/00000-00000000000000000000-00000000000000000003.parquet"
    assert (file["rows"], file["bytes"]) == (3, len(world.storage.contents[f"alpha/home/queue/v1/{file['path']}"]))
    assert (file["min_timestamp"], file["max_timestamp"]) == (
        world.queue.timestamps[0][0],
        world.queue.timestamps[0][2],
    )
    progress = json.loads(world.storage.contents["alpha/home/queue/v1/_progress.json"])
    assert progress["next_row_indexes"] == {"0": 3}


def test_what_is_written_during_a_run_is_left_for_the_next(world: ExportWorld) -> None:
    world.queue.write(0, 6)
    exporter = world.exporter(limits=FOUR)
    during_writes(exporter, lambda: world.queue.write(1, 3))
    exporter.catch_up()
    assert (exporter.summary.rows, exporter.summary.batches, exporter.summary.succeeded) == (6, 2, True)
    assert exporter.summary.next_row_indexes == {0: 6}
    assert exporter.summary.remaining_rows > 0


def test_trimmed_rows_stop_an_export_unless_gaps_are_allowed(world: ExportWorld) -> None:
    world.queue.write(0, 10)
    world.exporter().catch_up()
    world.queue.write(0, 10)
    world.queue.lower[0] = 14
    exporter = world.exporter()
    with pytest.raises(SourceChanged, match="rows 10 to 13 of partition 0 were trimmed"):
        exporter.catch_up()
    assert (exporter.summary.succeeded, "SourceChanged" in str(exporter.summary.error)) == (False, True)
    exporter = world.exporter(on_trimmed="skip")
    exporter.catch_up()
    assert exporter.summary.trimmed_rows == 4
    assert live_rows(world) == rows((0, 0, 10), (0, 14, 20))
    assert verdict(world).faults == []
    assert verdict(world).notes == [
        "rows 10 to 13 of partition 0 had been trimmed before they were exported (manifest 1)"
    ]


def test_a_queue_that_was_created_anew_needs_a_new_generation(world: ExportWorld) -> None:
    world.queue.write(0, 10)
    world.exporter().catch_up()
    world.queue.object_id = "5-6-7-8"
    world.queue.timestamps = {0: [], 1: []}
    world.queue.write(0, 3)
    with pytest.raises(SourceChanged, match="generation 2"):
        world.exporter().catch_up()
    world.exporter(generation=2).catch_up()
    assert live_rows(world, "v1-g2") == rows((0, 0, 3))
    assert world.queue.offsets == {0: 3}


def test_a_queue_that_is_created_anew_while_it_is_read_is_not_published(world: ExportWorld) -> None:
    world.queue.write(0, 10)
    exporter = world.exporter()
    during_writes(exporter, lambda: setattr(world.queue, "object_id", "5-6-7-8"))  # with as many rows
    with pytest.raises(SourceChanged, match="generation 2"):
        exporter.catch_up()
    assert list(world.archive().manifests()) == []
    assert world.queue.offsets == {}


def test_a_queue_that_was_resharded_needs_a_new_generation_which_lacks_no_row(world: ExportWorld) -> None:
    world.queue.write(0, 10)
    world.queue.write(1, 10)
    world.exporter().catch_up()
    world.queue.write(1, 5)  # not exported, and part of partition 0 from now on
    world.queue.reshard()
    world.queue.write(1, 20)
    with pytest.raises(SourceChanged, match=r"resharded: partitions \[1\] .* generation 2"):
        world.exporter().catch_up()
    assert live_rows(world) == rows((0, 0, 10), (1, 0, 10))
    assert world.queue.offsets == {0: 10, 1: 10}
    assert "partition 1 of the queue is another tablet now" in verdict(world).to_text()
    world.exporter(generation=2).catch_up()
    assert live_rows(world, "v1-g2") == rows((0, 0, 25), (1, 0, 20))
    assert verdict(world, "v1-g2").is_whole


def test_a_queue_that_is_resharded_while_it_is_read_is_not_published(world: ExportWorld) -> None:
    world.queue.write(1, 10)
    exporter = world.exporter()
    during_writes(exporter, world.queue.reshard)
    with pytest.raises(SourceChanged, match="resharded"):
        exporter.catch_up()
    assert live_rows(world) == Counter()
    assert world.queue.offsets == {}
    world.exporter().catch_up()  # nothing was published, so the export begins with the new tablets
    assert live_rows(world) == rows((0, 0, 10))


def test_an_export_of_an_earlier_version_learns_its_tablets(world: ExportWorld) -> None:
    world.queue.write(1, 10)
    world.exporter().catch_up()
    for name in ("_manifest/000000000000.json", "_progress.json"):
        document = json.loads(world.storage.contents[f"alpha/home/queue/v1/{name}"])
        del document["tablets"]
        world.storage.contents[f"alpha/home/queue/v1/{name}"] = json.dumps(document).encode()
    world.queue.write(1, 5)
    world.exporter().catch_up()
    assert live_rows(world) == rows((1, 0, 15))
    assert world.archive().load_state().tablet_ids == {1: "t1"}


@pytest.mark.parametrize("damage", ["away", "other"])
def test_what_the_driver_does_not_see_at_the_target_is_not_published(
    world: ExportWorld, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    world.queue.write(0, 3)
    exporter = world.exporter()

    write = exporter._writer.write

    def write_and_spoil(plan: Plan, directory: str, settings: FileSettings) -> Sequence[ExportFile]:
        files = write(plan, directory, settings)
        [path] = [path for path in world.storage.contents if path.endswith(".parquet")]
        content = world.storage.contents.pop(path)
        if damage == "other":
            world.storage.contents[path] = content[::-1]
        return files

    monkeypatch.setattr(exporter._writer, "write", write_and_spoil)
    with pytest.raises(ExportError, match="nothing of the batch is published"):
        exporter.catch_up()
    assert (live_rows(world), world.queue.offsets) == (Counter(), {})
    world.exporter().catch_up()
    assert live_rows(world) == rows((0, 0, 3))


def test_a_queue_that_was_cut_off_stops_the_export(world: ExportWorld) -> None:
    world.queue.write(0, 10)
    world.exporter().catch_up()
    del world.queue.timestamps[0][5:]
    with pytest.raises(SourceChanged, match="ends at row 5"):
        world.exporter().catch_up()


def test_new_partitions_are_exported_and_told_of(world: ExportWorld) -> None:
    world.queue.write(0, 1)
    world.exporter().catch_up()
    world.queue.add_partition()
    world.queue.write(2, 2)
    world.exporter().catch_up()
    assert live_rows(world) == rows((0, 0, 1), (2, 0, 2))
    assert "partition 2 was new (manifest 1)" in verdict(world).notes


def test_a_schema_that_can_not_be_followed_needs_a_new_version_which_goes_on(world: ExportWorld) -> None:
    world.queue.write(0, 3)
    world.exporter().catch_up()
    world.queue.schema = [*SCHEMA, {"name": "added", "type": "string"}]
    world.queue.write(0, 3)
    world.exporter().catch_up()
    hashes = [manifest.schema_hash for manifest in world.archive().manifests()]
    assert len(set(hashes)) == 2
    world.queue.schema = [*SCHEMA[1:], {"name": "added", "type": "string"}]
    world.queue.write(0, 3)
    with pytest.raises(SourceChanged, match=r'column "number" is gone.*schema version 2'):
        world.exporter().catch_up()
    world.exporter(schema_version=2).catch_up()
    assert live_rows(world, "v2") == rows((0, 6, 9))
    assert verdict(world, "v2").faults == []
    world.queue.write(0, 2)
    world.exporter(schema_version=4).catch_up()
    assert live_rows(world, "v4") == rows((0, 9, 11)), "a version that was left out changes nothing"


def test_a_consumer_that_was_elsewhere_before_is_moved_back(world: ExportWorld) -> None:
    world.queue.write(0, 10)
    world.queue.offsets = {0: 7}
    world.exporter().catch_up()
    assert live_rows(world) == rows((0, 0, 10))


def test_a_consumer_ahead_of_what_is_exported_is_somebody_elses(world: ExportWorld) -> None:
    world.queue.write(0, 10)
    world.exporter().catch_up()
    world.queue.write(0, 10)
    world.queue.offsets = {0: 15}
    with pytest.raises(TargetTaken, match="row 15 of partition 0"):
        world.exporter().catch_up()


def test_a_directory_is_for_one_consumer_and_one_set_of_options(world: ExportWorld) -> None:
    world.queue.write(0, 1)
    world.exporter().catch_up()
    with pytest.raises(OptionError, match="partitioning hour"):
        world.exporter(files=FileSettings("day")).catch_up()
    world.queue.consumer_path = "//home/other"
    with pytest.raises(TargetTaken, match="belongs to the consumer"):
        world.exporter().catch_up()


def test_what_can_not_be_written_is_refused_before_anything_is_there(world: ExportWorld) -> None:
    world.queue.write(0, 3)
    with pytest.raises(ColumnError, match='"event_tmie" is missing'):
        world.exporter(files=FileSettings(time_column="event_tmie")).catch_up()
    assert (world.queue.is_held, world.storage.contents) == (False, {})


def test_another_consumer_is_refused_before_it_holds_rows(world: ExportWorld) -> None:
    world.queue.write(0, 3)
    world.exporter().catch_up()
    world.queue.consumer_path, world.queue.is_held = "//home/misspelt", False
    with pytest.raises(TargetTaken, match="belongs to the consumer //home/exporter, not to //home/misspelt"):
        world.exporter().catch_up()
    assert not world.queue.is_held


def test_options_can_be_mended_while_nothing_is_published(world: ExportWorld) -> None:
    world.queue.write(0, 3)
    world.mortal.die_at(3, after=True)  # the identity, the plan, and a file
    with pytest.raises(Crash):
        world.exporter(files=FileSettings("day")).catch_up()
    assert any(path.endswith(".parquet") for path in world.storage.contents)
    world.mortal.die_at(None, after=True)
    world.exporter().catch_up()
    assert (verdict(world).faults, verdict(world).notes, live_rows(world)) == ([], [], rows((0, 0, 3)))
    with pytest.raises(OptionError, match="begun with partitioning hour, not day"):
        world.exporter(files=FileSettings("day")).catch_up()


def test_rows_of_one_directory_are_alike_and_another_version_goes_on_with_others(world: ExportWorld) -> None:
    world.queue.write(0, 3)
    world.exporter(transformation="--where number > 0").catch_up()
    world.queue.write(0, 3)
    changed = (
        "transformation --where number > 0, not --where number > 1, and .* schema version 2, which goes on where v1"
    )
    with pytest.raises(OptionError, match=changed):
        world.exporter(transformation="--where number > 1").catch_up()
    with pytest.raises(OptionError, match="transformation --where number > 0, not none"):
        world.exporter().catch_up()
    world.exporter(transformation="--where number > 0").catch_up()
    world.queue.write(0, 3)
    world.queue.read = replace(world.queue.read, types=TypeOptions(uint64_as="decimal"))
    with pytest.raises(OptionError, match="uint64_as long, not decimal"):
        world.exporter(transformation="--where number > 0").catch_up()
    world.exporter(transformation="--where number > 1", schema_version=2).catch_up()
    assert (live_rows(world), live_rows(world, "v2")) == (rows((0, 0, 6)), rows((0, 6, 9)))


def test_hours_are_closed_once_nothing_can_come_the_empty_ones_too(world: ExportWorld) -> None:
    world.queue.write(0, 2)
    world.queue.now += 3 * HOUR
    world.queue.write(0, 3)
    world.queue.write(1, 1)
    exporter = world.exporter()
    exporter.catch_up()
    assert exporter.summary.closed_periods == 3
    world.queue.now += timedelta(minutes=64)
    exporter = world.exporter()
    exporter.catch_up()
    assert exporter.summary.closed_periods == 0
    world.queue.now += timedelta(minutes=1)
    world.exporter().catch_up()
    found = [(one.label, one.tally.row_count) for one in world.archive().completions()]
    assert found == [(f"dt=2026-01-31/hour={hour:02}", count) for hour, count in ((7, 2), (8, 0), (9, 0), (10, 4))]
    assert verdict(world).faults == []


def test_rows_of_the_past_reopen_hours_that_were_closed(world: ExportWorld) -> None:
    world.queue.write(0, 2)
    world.queue.now += 2 * HOUR
    world.exporter().catch_up()
    world.queue.timestamps[0] += [int(START.timestamp()) << 30]
    exporter = world.exporter()
    exporter.catch_up()
    assert exporter.summary.late_rows == 1
    [completion] = world.archive().completions()
    assert (completion.generation, completion.tally.row_count) == (2, 3)
    assert verdict(world).faults == []


def test_a_backfill_brings_rows_of_before(world: ExportWorld) -> None:
    world.queue.write(0, 30)
    world.exporter().backfill([Range(0, 20, 30)])
    with pytest.raises(RangeRefused, match="overlap"):
        world.exporter().backfill([Range(0, 15, 25)])
    world.exporter(limits=BatchLimits(8, 8)).backfill([Range(0, 0, 20)])
    assert live_rows(world) == rows((0, 0, 30))
    assert (verdict(world).faults, verdict(world).manifests, verdict(world).ranges) == ([], 4, {0: (0, 30)})
    world.queue.write(0, 5)
    world.exporter().catch_up()
    assert live_rows(world) == rows((0, 0, 35))


@pytest.mark.parametrize("what", ["backfill", "replace"])
def test_a_batch_of_past_rows_that_are_gone_when_it_is_to_be_done_again_is_given_up(
    world: ExportWorld, what: str
) -> None:
    world.queue.write(0, 30)
    world.exporter().backfill([Range(0, 20, 30)])
    exporter = world.exporter()
    during_writes(exporter, lambda: world.mortal.die_at(0, after=False))
    with pytest.raises(Crash):
        exporter.backfill([Range(0, 10, 20)]) if what == "backfill" else exporter.replace([Range(0, 20, 30)])
    world.mortal.die_at(None, after=False)
    world.queue.lower[0] = 25
    world.queue.write(0, 5)
    world.exporter(on_trimmed="skip").catch_up()
    assert (verdict(world).faults, live_rows(world)) == ([], rows((0, 20, 35)))


def test_replaced_rows_are_read_once_more(world: ExportWorld) -> None:
    world.queue.write(0, 12)
    world.exporter(limits=FOUR).catch_up()
    world.exporter(limits=FOUR).replace([Range(0, 3, 5)])
    assert (verdict(world).faults, live_rows(world)) == ([], rows((0, 0, 12)))
    assert len([note for note in verdict(world).notes if "has been replaced" in note]) == 2
    assert compact(world, timedelta(0)).removed_files == 2
    assert verdict(world).notes == []


def test_a_period_is_replaced_as_a_whole_or_not_at_all(world: ExportWorld) -> None:
    world.queue.write(0, 8)
    world.queue.now += 2 * HOUR
    world.queue.write(0, 4)
    world.exporter(limits=FOUR).catch_up()
    world.queue.lower[0] = 4
    with pytest.raises(RangeRefused, match="rows 0 to 3 of partition 0 are not all in the queue"):
        world.exporter().replace([Range(0, 4, 12)], (START, None))
    world.exporter().replace([Range(0, 8, 12)], (START + HOUR, None))
    assert (verdict(world).faults, live_rows(world)) == ([], rows((0, 0, 12)))
    with pytest.raises(RangeRefused, match="nothing to replace"):
        world.exporter().replace([], (START + 5 * HOUR, None))


def test_a_run_is_stopped_between_batches(world: ExportWorld) -> None:
    world.queue.write(0, 12)
    stop = Event()
    exporter = world.exporter(stop, limits=FOUR)
    during_writes(exporter, stop.set)
    exporter.catch_up()
    assert (exporter.summary.batches, exporter.summary.stopped, exporter.summary.remaining_rows) == (1, True, 8)
    assert world.queue.offsets == {0: 4}


def during_writes(exporter: Exporter, action: Callable[[], object]) -> None:
    """Do something whenever files of a batch are written."""
    inner = exporter._writer

    class Busy:
        def check(self, settings: FileSettings) -> None:
            inner.check(settings)

        def write(self, plan: Plan, directory: str, settings: FileSettings) -> Sequence[ExportFile]:
            action()
            return inner.write(plan, directory, settings)

    exporter._writer = Busy()


def test_a_document_that_can_not_be_read_is_named(world: ExportWorld) -> None:
    world.queue.write(0, 8)
    world.exporter().catch_up()
    world.storage.contents["alpha/home/queue/v1/_progress.json"] = b"{}"
    with pytest.raises(TargetDamaged, match=r"_progress\.json"):
        world.exporter().catch_up()
