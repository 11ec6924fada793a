"""Nothing is trimmed by what was true a moment ago: changes while rows are asked for their ages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from queue_agent.config.passes import ControllerConfig
from queue_agent.controllers.trimming.preview import TrimPreviewer
from queue_agent.core.queues.snapshots import ConsumerSnapshot
from queue_agent.core.state.rows import MappingRow, Registration
from queue_agent.core.trimming.ages import RowFound
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterUnavailable
from tests.unit.controllers.agent_world import CONSUMER, QUEUE, QUEUE_ATTRIBUTES, START, FakeQueue, World

OTHER = CrossClusterRef("hume", "//tmp/other")


@pytest.fixture
async def world() -> World:
    """The queue keeps rows for a minute, and has been looked at; so has its consumer, which has read up to 42."""
    world = World()
    policy = {"enable": True, "retained_lifetime_duration": 60_000}
    world.pythia.attributes[QUEUE.path] = {**QUEUE_ATTRIBUTES, "auto_trim_config": policy}
    await world.synchronize()
    await world.look()
    return world


def meanwhile(world: World, change: Callable[[], None]) -> None:
    """Have something happen while the rows of the queue are looked at."""
    find_young_row = world.pythia.find_young_row

    async def find(object_id: str, partition_index: int, rows: range, limit: int) -> RowFound | None:
        change()
        return await find_young_row(object_id, partition_index, rows, limit)

    world.pythia.find_young_row = find  # type: ignore[method-assign] # the world changes under the question


def set_attributes(world: World, **attributes: Any) -> Callable[[], None]:
    def change() -> None:
        world.pythia.attributes[QUEUE.path] = {**world.pythia.attributes[QUEUE.path], **attributes}

    return change


async def trims(world: World) -> list[tuple[str, int, int]]:
    await world.queue_controller().do_pass(1)
    return world.pythia.trims


async def test_without_changes_the_plan_is_carried_out(world: World) -> None:
    assert await trims(world) == [("1-2-3-4", 0, 42)]


async def test_rows_that_were_found_old_are_not_looked_at_again(world: World) -> None:
    asked: list[None] = []
    meanwhile(world, lambda: asked.append(None))
    controller = world.queue_controller()
    await controller.do_pass(1)
    await controller.do_pass(2)
    assert world.pythia.trims == [("1-2-3-4", 0, 42)] * 2
    assert len(asked) == 1


async def test_without_a_present_time_nothing_is_trimmed_and_the_cluster_s_answer_is_told(world: World) -> None:
    async def fail() -> int:
        raise ClusterUnavailable("no timestamps", 105)

    world.pythia.generate_timestamp = fail  # type: ignore[method-assign] # one request of the fake fails
    assert await trims(world) == []
    assert "no timestamps" in str(world.trim_alert())


async def test_an_offset_set_back_by_whatever_means_counts_before_its_consumer_is_looked_at_again(world: World) -> None:
    def rewind() -> None:
        world.hume.offsets[CONSUMER.path, QUEUE] = {0: 7}

    meanwhile(world, rewind)
    assert await trims(world) == [("1-2-3-4", 0, 7)]
    assert world.trim_alert() is None


async def test_a_consumer_that_goes_on_with_new_rows_does_not_stop_trimming(world: World) -> None:
    def go_on() -> None:
        world.pythia.queues[QUEUE.path] = FakeQueue(["mounted"], {0: (0, 300)})
        world.hume.offsets[CONSUMER.path, QUEUE] = {0: 300}

    meanwhile(world, go_on)
    assert await trims(world) == [("1-2-3-4", 0, 42)]


async def test_a_registration_that_comes_meanwhile_stops_the_trim(world: World) -> None:
    async def look_and_register(*arguments: Any, **options: Any) -> Any:
        world.board.put_registrations(
            [Registration(QUEUE, CONSUMER, vital=True), Registration(QUEUE, OTHER, vital=True)]
        )
        return {0: 42}

    world.hume.read_next_row_indexes = look_and_register  # type: ignore[method-assign] # while offsets are read
    assert await trims(world) == []
    assert "has just come" in str(world.trim_alert())


async def test_a_consumer_that_becomes_vital_meanwhile_stops_the_trim(world: World) -> None:
    """Whether its offset is one of these rows was not looked at."""
    row = world.store.consumers[CONSUMER]
    world.store.consumers[OTHER] = replace(row, consumer=OTHER)
    world.board.put_rows(await world.store.read())
    consumer = world.board.all_consumers[CONSUMER]
    world.board.put_consumer(ConsumerSnapshot(world.store.consumers[OTHER], consumer.role, 1, START, consumer.content))
    world.hume.offsets[OTHER.path, QUEUE] = {0: 3}
    both = [Registration(QUEUE, CONSUMER, vital=True), Registration(QUEUE, OTHER, vital=True)]

    def register() -> None:
        world.store.registrations = both
        world.board.put_registrations(both)

    meanwhile(world, register)
    assert await trims(world) == []
    assert "has just come" in str(world.trim_alert())


async def test_a_registration_that_the_agent_has_not_read_yet_stops_the_trim(world: World) -> None:
    world.store.registrations.append(Registration(QUEUE, OTHER, vital=True))
    assert await trims(world) == []
    assert "has just come" in str(world.trim_alert())
    world.store.registrations.pop()
    await world.queue_controller().do_pass(2)
    assert world.pythia.trims == [("1-2-3-4", 0, 42)]


async def test_a_consumer_that_left_before_the_agent_noticed_is_not_asked_but_its_offset_still_counts(
    world: World,
) -> None:
    world.store.registrations = [Registration(QUEUE, OTHER, vital=True)]
    world.store.consumers[OTHER] = replace(world.store.consumers[CONSUMER], consumer=OTHER)
    world.board.put_rows(await world.store.read())
    position = world.board.all_consumers[CONSUMER]
    world.board.put_consumer(replace(position, row=world.store.consumers[OTHER]))
    world.board.put_registrations(
        [Registration(QUEUE, CONSUMER, vital=True), Registration(QUEUE, OTHER, vital=True)],
    )
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 7}
    world.hume.offsets[OTHER.path, QUEUE] = {0: 90}
    assert await trims(world) == [("1-2-3-4", 0, 42)]


async def test_registrations_that_can_not_be_read_stop_the_trim(world: World) -> None:
    world.store.broken = ClusterUnavailable("gone", 105)
    assert await trims(world) == []
    assert "gone" in str(world.trim_alert())


async def test_a_queue_that_was_resharded_since_the_pass_began_is_not_trimmed(world: World) -> None:
    meanwhile(world, set_attributes(world, tablets=[{"index": 0, "tablet_id": "another"}]))
    assert await trims(world) == []
    assert "the table was resharded" in str(world.trim_alert())


async def test_the_last_vital_registration_that_goes_takes_the_trim_along(world: World) -> None:
    meanwhile(world, lambda: setattr(world.store, "registrations", [Registration(QUEUE, CONSUMER, vital=False)]))
    assert await trims(world) == []
    assert "no vital consumers any more" in str(world.trim_alert())


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"id": "5-6-7-8"}, "is 5-6-7-8, and not 1-2-3-4"),
        ({"auto_trim_config": {"enable": False}}, "auto_trim_config"),
        ({"queue_agent_banned": True}, "queue_agent_banned"),
        ({"static_export_config": {"daily": {"export_period": 1000}}}, "static_export_config"),
        ({"queue_agent_stage": "other"}, "queue_agent_stage"),
        ({"auto_trim_config": 5}, "Unexpected type of value: 5"),
    ],
)
async def test_a_queue_whose_attributes_change_is_not_trimmed(
    world: World, attributes: dict[str, Any], words: str
) -> None:
    meanwhile(world, set_attributes(world, **attributes))
    assert await trims(world) == []
    assert words in str(world.trim_alert())


@pytest.mark.parametrize("request_name", ["read_next_row_indexes", "get_tablet_infos"])
async def test_the_table_is_looked_at_after_all_else(world: World, request_name: str) -> None:
    cluster = world.hume if request_name == "read_next_row_indexes" else world.pythia
    request = getattr(cluster, request_name)
    asked = []

    async def ask_and_make_anew(*arguments: Any, **options: Any) -> Any:
        asked.append(request_name)
        answer = await request(*arguments, **options)
        set_attributes(world, id="5-6-7-8")()
        return answer

    queue = world.queue_controller()
    meanwhile(world, lambda: setattr(cluster, request_name, ask_and_make_anew))
    await queue.do_pass(1)
    assert asked == [request_name]
    assert world.pythia.trims == []
    assert "is 5-6-7-8, and not 1-2-3-4" in str(world.trim_alert())


@pytest.mark.parametrize("attribute", ["static_export_config", "queue_agent_banned"])
async def test_a_column_the_state_tables_lack_does_not_cost_a_queue_its_protection(
    world: World, attribute: str
) -> None:
    value = {"daily": {"export_period": 1000}} if attribute == "static_export_config" else True
    set_attributes(world, **{attribute: value})()
    assert await trims(world) == []
    assert attribute in str(world.trim_alert())


async def test_a_row_that_changes_in_the_state_tables_stops_the_trim_too(world: World) -> None:
    rows = await world.store.read()
    banned = replace(rows.queues[0], queue_agent_banned=True)
    meanwhile(world, lambda: world.board.put_rows(replace(rows, queues=[banned])))
    assert await trims(world) == []


async def test_a_queue_that_leaves_the_state_tables_is_not_trimmed(world: World) -> None:
    rows = await world.store.read()
    meanwhile(world, lambda: world.board.put_rows(replace(rows, queues=[])))
    assert await trims(world) == []


@pytest.mark.parametrize("lost", ["queue", "consumer"])
async def test_what_can_not_be_asked_again_is_not_trimmed(world: World, lost: str) -> None:
    async def fail(*arguments: Any, **options: Any) -> Any:
        raise ClusterUnavailable("gone", 105)

    if lost == "queue":
        world.pythia.get_attributes = fail  # type: ignore[method-assign] # one request of the fake fails
    else:
        world.hume.read_next_row_indexes = fail  # type: ignore[method-assign] # one request of the fake fails
    assert await trims(world) == []
    assert "gone" in str(world.trim_alert())


async def test_a_consumer_without_a_usable_row_stops_the_trim(world: World) -> None:
    rows = await world.store.read()
    banned = replace(rows.consumers[0], queue_agent_banned=True)
    meanwhile(world, lambda: world.board.put_rows(replace(rows, consumers=[banned])))
    assert await trims(world) == []
    assert "is banned" in str(world.trim_alert())


async def test_a_consumer_whose_row_has_come_to_be_in_error_stops_the_trim(world: World) -> None:
    rows = await world.store.read()
    broken = replace(rows.consumers[0], schema=None)
    meanwhile(world, lambda: world.board.put_rows(replace(rows, consumers=[broken])))
    assert await trims(world) == []
    assert "Consumer schema is not known yet" in str(world.trim_alert())


async def test_offsets_of_a_replicated_consumer_are_asked_of_its_synchronous_replica(world: World) -> None:
    replica = {"cluster_name": "hume", "replica_path": "//tmp/offsets", "mode": "sync", "content_type": "data"}
    mapping = MappingRow(
        CONSUMER,
        object_type="chaos_replicated_table",
        meta={"chaos_replicated_table_meta": {"replicas": {"3-3-3-3": replica}}},
    )
    chaotic = replace(world.store.consumers[CONSUMER], object_type="chaos_replicated_table")
    rows = replace(await world.store.read(), consumers=[chaotic], mappings=[mapping])
    world.hume.offsets["//tmp/offsets", QUEUE] = {0: 7}
    meanwhile(world, lambda: world.board.put_rows(rows))
    assert await trims(world) == [("1-2-3-4", 0, 7)]


async def test_a_named_consumer_is_asked_for_its_own_offsets(world: World) -> None:
    named = CONSUMER._replace(name="alice")
    world.store.consumers[named] = replace(world.store.consumers[CONSUMER], consumer=named)
    world.store.registrations = [Registration(QUEUE, named, vital=True)]
    world.board.put_rows(await world.store.read())
    world.board.put_registrations(world.store.registrations)
    position = world.board.all_consumers[CONSUMER]
    world.board.put_consumer(replace(position, row=world.store.consumers[named]))

    async def read(
        consumer_path: str, queue: CrossClusterRef, partition_count: int, *, name: str = ""
    ) -> Mapping[int, int]:
        return {0: 7} if (consumer_path, name) == (CONSUMER.path, "alice") else {0: 42}

    world.hume.read_next_row_indexes = read  # type: ignore[method-assign] # several consumers in one table
    assert await trims(world) == [("1-2-3-4", 0, 7)]


async def test_trimming_switched_off_meanwhile_is_off(world: World) -> None:
    def switch_off() -> None:
        world.context.config = ControllerConfig(enable_automatic_trimming=False)

    meanwhile(world, switch_off)
    assert await trims(world) == []


async def test_a_preview_shows_what_a_last_look_would_hold_back(world: World) -> None:
    world.hume.offsets[CONSUMER.path, QUEUE] = {0: 7}
    preview = await TrimPreviewer(world.context, world.origins).preview(QUEUE, None)
    assert preview is not None
    assert preview.partitions[0].trim.target == 7
