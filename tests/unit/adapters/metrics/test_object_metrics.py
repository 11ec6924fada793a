"""What metrics show of objects, by their snapshots."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from queue_agent.adapters.metrics.metric_lines import MAX_PATH_LABEL_BYTES
from queue_agent.adapters.metrics.object_page import ObjectPage, Objects
from queue_agent.config.serving import MetricsConfig
from queue_agent.core.queues.snapshots import (
    ConsumerQueueView,
    ConsumerView,
    Disposition,
    FailedConsumerPartition,
    QueueSnapshot,
    QueueView,
    Role,
)
from queue_agent.core.state.quarantines import Quarantine
from queue_agent.core.state.rows import ConsumerRow, QueueRow
from queue_agent.core.values.rates import Counters
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.trim_constraints import ConstraintKind, PartitionTrim, TrimConstraint
from tests.unit.adapters.object_samples import (
    CONSUMER,
    CONSUMER_LABELS,
    ERROR,
    NOW,
    QUEUE,
    QUEUE_LABELS,
    REGISTRATION,
    ObjectMetrics,
    Page,
    collect,
    consumer,
    failed,
    partition,
    queue,
    reading,
)


def test_gauges_of_a_queue_are_those_of_its_snapshot() -> None:
    page = collect(ObjectMetrics(), [queue(partition(2, 5, 100, 30), partition(0, 1), failed())])
    assert page.value("queue_partitions", QUEUE_LABELS) == 3
    assert page.value("queue_consumers", QUEUE_LABELS) == 1
    assert page.value("queue_consumers", QUEUE_LABELS, vital="true") == 1
    assert page.value("queue_consumers", QUEUE_LABELS, vital="false") == 0
    assert page.value("queue_partition_row_count", QUEUE_LABELS) == 4
    assert page.value("queue_partition_row_count", QUEUE_LABELS, partition_index="0") == 3
    assert page.value("queue_partition_data_weight", QUEUE_LABELS) == 70


def test_what_is_not_known_has_no_series() -> None:
    page = collect(ObjectMetrics(), [queue(partition(0, 1), failed())])
    assert page.value("queue_partition_row_count", QUEUE_LABELS, partition_index="1") is None
    assert not {name for name in page.names if "data_weight" in name}


def test_an_empty_queue_weighs_nothing_if_it_would_tell_what_it_weighs() -> None:
    empty = queue(partition(5, 5), partition(0, 0))
    assert collect(ObjectMetrics(), [empty]).own("queue_bytes", QUEUE_LABELS) == 0
    silent = replace(empty, content=QueueView([partition(5, 5)], True, False, NOW, 1))
    assert collect(ObjectMetrics(), [silent]).own("queue_bytes", QUEUE_LABELS) is None
    assert collect(ObjectMetrics(), [queue(partition(0, 1))]).own("queue_bytes", QUEUE_LABELS) is None


def test_objects_that_others_lead_have_no_series_and_what_nobody_can_only_one() -> None:
    assert not collect(ObjectMetrics(), [replace(queue(partition(0, 1)), role=Role.FOLLOWING)]).names
    in_error = collect(ObjectMetrics(), [replace(queue(), role=Role.ERROR, pass_index=0, content=ERROR)])
    assert in_error.own("queue_readable", QUEUE_LABELS) == 0
    assert in_error.names == {"queue_agent_queue_readable"}


def test_nothing_is_said_of_what_is_banned_or_was_not_looked_at_yet() -> None:
    assert not collect(ObjectMetrics(), [replace(queue(partition(0, 1)), banned_since=NOW)]).names
    assert not collect(ObjectMetrics(), [replace(queue(), pass_index=0, content=ERROR)]).names


def test_gauges_of_a_consumer_come_per_partition_and_over_all() -> None:
    snapshot = consumer(reading(10, 6, 100, 2.5), reading(20, 2, 200))
    page = collect(ObjectMetrics(), [queue(partition(0, 16), partition(0, 22))], [snapshot])
    expected = {
        "offset_max": 20,
        "lag_rows_sum": 8,
        "lag_rows_max": 6,
        "lag_rows_avg": 4,
        "lag_data_weight_sum": 80,
        "lag_time_max": 2.5,
        "lag_time_avg": 1.25,
    }
    for name, value in expected.items():
        assert page.value(f"consumer_partition_{name}", CONSUMER_LABELS) == value
    for name in ("lag_rows_sum", "lag_rows_max", "lag_rows_avg"):
        assert page.value(f"consumer_partition_{name}", CONSUMER_LABELS, partition_index="1") == 2


def test_only_registered_partitions_of_a_consumer_are_shown() -> None:
    some = replace(REGISTRATION, partitions=(1, 7))
    page = collect(ObjectMetrics(), [], [consumer(reading(1, 5), reading(1, 6), registration=some)])
    assert page.value("consumer_partition_lag_rows_sum", CONSUMER_LABELS) == 6
    assert page.value("consumer_partition_lag_rows_sum", CONSUMER_LABELS, partition_index="0") is None


def test_a_consumer_partition_or_queue_in_error_has_no_gauges() -> None:
    failed_partition = FailedConsumerPartition(ERROR, 5, NOW, Counters())
    facts = {f"queue_agent_consumer_{name}" for name in ("readable", "vital", "registration_ok")}
    page = collect(ObjectMetrics(), [], [consumer(failed_partition)])
    assert page.own("consumer_partitions", CONSUMER_LABELS, disposition="error") == 1
    assert page.names == facts | {"queue_agent_consumer_partitions"}
    page = collect(ObjectMetrics(), [], [replace(consumer(), content=ConsumerView({QUEUE: ERROR}))])
    assert page.own("consumer_registration_ok", CONSUMER_LABELS) == 0
    assert page.names == facts | {"queue_agent_registration_broken"}


def test_tags_are_labels() -> None:
    tagged = replace(queue(partition(0, 1)), row=QueueRow(QUEUE, queue_profiling_tag="blue"))
    reader = consumer(reading(1, 0))
    reader = replace(reader, row=replace(reader.row, queue_consumer_profiling_tag="red"))
    page = collect(ObjectMetrics(), [tagged], [reader])
    assert page.value("queue_partitions", {**QUEUE_LABELS, "queue_tag": "blue"}) == 1
    labels = {**CONSUMER_LABELS, "queue_tag": "blue", "consumer_tag": "red"}
    assert page.value("consumer_partition_offset_max", labels) == 1


def test_long_paths_are_cut_between_characters() -> None:
    ref = CrossClusterRef("pythia", "//" + "я" * 150)
    page = collect(ObjectMetrics(), [queue(partition(0, 1), ref=ref)])
    label = "//" + "я" * ((MAX_PATH_LABEL_BYTES - 2) // 2)
    assert page.value("queue_partitions", {**QUEUE_LABELS, "queue_path": label}) == 1


def test_counters_of_the_other_agent_are_rendered_without_a_suffix() -> None:
    lines = collect(ObjectMetrics(), [queue(partition(0, 1))]).text.splitlines()
    name = "yt_queue_agent_queue_partition_rows_written"
    assert f"# TYPE {name} counter" in lines
    assert f'{name}{{queue_cluster="pythia",queue_path="//tmp/q",queue_tag="none"}} 0' in lines


def test_each_consumer_with_notice_or_in_quarantine_has_a_series() -> None:
    notice = Quarantine(CrossClusterRef("hume", "//tmp/c", "a"), "1-2-3-4", {}, NOW, NOW, timedelta(hours=1))
    started = replace(notice, consumer=CONSUMER, is_started=True)
    page = collect(ObjectMetrics(), [replace(queue(partition(0, 9)), quarantines=[notice, started])])
    named = {"consumer_cluster": "hume", "consumer_path": "//tmp/c", "consumer_name": "a"}
    assert page.own("queue_quarantine", QUEUE_LABELS, **named, state="announced") == 1
    own = {"consumer_cluster": CONSUMER.cluster, "consumer_path": CONSUMER.path}
    assert page.own("queue_quarantine", QUEUE_LABELS, **own, state="started") == 1
    assert not [name for name in collect(ObjectMetrics(), [queue(partition(0, 9))]).names if "quarantine" in name]


def test_partitions_are_counted_by_what_holds_them_back() -> None:
    def held(kind: ConstraintKind, row_count: int | None) -> PartitionTrim:
        return PartitionTrim(None, TrimConstraint(kind, held_row_count=row_count))

    trims = {
        0: held(ConstraintKind.RETAINED_ROWS, 5),
        1: held(ConstraintKind.RETAINED_ROWS, 6),
        2: held(ConstraintKind.NOT_MOUNTED, None),
    }
    snapshot = replace(queue(partition(0, 9), partition(0, 9), failed()), trims=trims)
    page = collect(ObjectMetrics(), [snapshot])
    assert page.own("queue_trim_constraint_partitions", QUEUE_LABELS, kind="retained_rows") == 2
    assert page.own("queue_trim_constraint_partitions", QUEUE_LABELS, kind="not_mounted") == 1
    assert page.own("queue_trim_held_rows", QUEUE_LABELS, kind="retained_rows") == 11
    assert page.own("queue_trim_held_rows", QUEUE_LABELS, kind="not_mounted") is None
    assert not [name for name in collect(ObjectMetrics(), [queue(partition(0, 9))]).names if "_trim_" in name]


def test_our_own_metrics_of_a_queue_are_of_all_partitions_together() -> None:
    page = collect(ObjectMetrics(), [queue(partition(2, 5, 100, 30), partition(0, 1), failed())])
    assert page.own("queue_readable", QUEUE_LABELS) == 1
    assert page.own("queue_partitions", QUEUE_LABELS, state="ok") == 2
    assert page.own("queue_partitions", QUEUE_LABELS, state="error") == 1
    assert page.own("queue_rows", QUEUE_LABELS) == 4
    assert page.own("queue_rows", QUEUE_LABELS, partition_index="0") is None
    assert page.own("queue_partition_rows", QUEUE_LABELS, partition_index="0") == 3
    assert page.own("queue_bytes", QUEUE_LABELS) == 70
    assert page.own("queue_last_write_timestamp_seconds", QUEUE_LABELS) == NOW.timestamp()


def test_our_own_metrics_of_a_consumer_count_what_is_unread_and_what_is_lost() -> None:
    rows_ahead = replace(reading(30, -8), disposition=Disposition.AHEAD, next_row_commit_time=None)
    reader = consumer(reading(1, 6, lag_seconds=7), reading(4, 2, lag_seconds=3), rows_ahead)
    page = collect(ObjectMetrics(), [queue(partition(3, 7), partition(1, 6), partition(0, 22))], [reader])
    assert page.own("consumer_lag_rows", CONSUMER_LABELS) == 8
    assert page.own("consumer_lag_seconds", CONSUMER_LABELS) == 7
    assert page.own("consumer_expired_rows", CONSUMER_LABELS) == 2
    assert page.own("consumer_headroom_rows", CONSUMER_LABELS) == 0
    assert page.own("consumer_partitions", CONSUMER_LABELS, disposition="ahead") == 1
    assert page.own("consumer_partition_next_row_index", CONSUMER_LABELS, partition_index="1") == 4
    assert page.own("consumer_vital", CONSUMER_LABELS) == 1


def test_the_age_of_unread_rows_is_absent_where_it_is_not_known_and_zero_where_there_are_none() -> None:
    unknown = replace(reading(1, 5), next_row_commit_time=None)
    page = collect(ObjectMetrics(), [], [consumer(unknown)])
    assert page.own("consumer_lag_rows", CONSUMER_LABELS) == 5
    assert page.own("consumer_lag_seconds", CONSUMER_LABELS) is None
    assert page.value("consumer_partition_lag_time_max", CONSUMER_LABELS) is None
    page = collect(ObjectMetrics(), [], [consumer(replace(unknown, unread_row_count=0))])
    assert page.own("consumer_lag_seconds", CONSUMER_LABELS) == 0


def test_partitions_of_unknown_lag_are_counted_beside_the_lag_of_others() -> None:
    unknown = replace(reading(1, 5), next_row_commit_time=None)
    page = collect(ObjectMetrics(), [], [consumer(unknown, reading(1, 5, lag_seconds=3), replace(unknown))])
    assert page.own("consumer_lag_seconds", CONSUMER_LABELS) == 3
    assert page.own("consumer_lag_unknown_partitions", CONSUMER_LABELS) == 2
    page = collect(ObjectMetrics(), [], [consumer(reading(1, 5), replace(unknown, unread_row_count=0))])
    assert page.own("consumer_lag_unknown_partitions", CONSUMER_LABELS) == 0


def test_rows_that_wait_grow_older_though_nothing_happens() -> None:
    metrics = ObjectMetrics()
    reader = consumer(reading(1, 6, lag_seconds=7))
    assert collect(metrics, [], [reader]).own("consumer_lag_seconds", CONSUMER_LABELS) == 7
    assert reader.view is not None
    [position] = reader.view.queues.values()
    assert isinstance(position, ConsumerQueueView)
    later = replace(position, seen_at=NOW + timedelta(seconds=5))
    page = collect(metrics, [], [replace(reader, content=ConsumerView({QUEUE: later}))])
    assert page.own("consumer_lag_seconds", CONSUMER_LABELS) == 12


def test_named_consumers_of_one_table_are_told_apart() -> None:
    ref = CONSUMER._replace(name='a "quoted" one')
    reader = replace(consumer(reading(1, 0)), row=ConsumerRow(ref), registrations=[replace(REGISTRATION, consumer=ref)])
    page = collect(ObjectMetrics(), [], [reader])
    assert page.own("consumer_lag_rows", CONSUMER_LABELS, consumer_name='a "quoted" one') == 0


def test_the_distribution_of_lag_is_shown_on_demand() -> None:
    reader = consumer(reading(1, 1, lag_seconds=0.003), reading(1, 1, lag_seconds=3))
    name = "consumer_partition_lag_time_histogram"
    assert collect(ObjectMetrics(), [], [reader]).value(f"{name}_count", CONSUMER_LABELS) is None
    page = collect(ObjectMetrics(lag_time_histogram=True), [], [reader])
    for bound, count in (("2", 0), ("4", 1), ("2000", 1), ("4000", 2), ("+Inf", 2)):
        assert page.value(f"{name}_bucket", CONSUMER_LABELS, le=bound) == count
    assert page.value(f"{name}_count", CONSUMER_LABELS) == 2


def test_only_the_worst_partitions_have_series_of_their_own_and_they_do_not_come_and_go() -> None:
    metrics = ObjectMetrics(partitions="worst", worst_partitions=2)

    def shown(*unread: int) -> set[int]:
        page = collect(metrics, [], [consumer(*(reading(1, rows) for rows in unread))])
        name = "consumer_partition_lag_rows"
        return {i for i in range(len(unread)) if page.own(name, CONSUMER_LABELS, partition_index=str(i)) is not None}

    assert shown(0, 9, 8, 7, 1) == {1, 2}
    assert shown(0, 9, 7, 8, 1) == {1, 2}
    assert shown(0, 9, 1, 8, 7) == {1, 2}
    assert shown(0, 9, 1, 99, 7) == {1, 3}
    assert shown(0, 0, 0, 0, 0) == set()


def test_all_partitions_of_chosen_objects_have_series() -> None:
    other = CrossClusterRef("pythia", "//tmp/other")
    metrics = ObjectMetrics(partitions="none", all_partitions_of="^pythia:.*/q$")
    page = collect(metrics, [queue(partition(0, 1)), queue(partition(0, 2), ref=other)])
    name, labels = "queue_partition_row_count", {**QUEUE_LABELS, "queue_path": "//tmp/other"}
    assert page.value(name, QUEUE_LABELS, partition_index="0") == 1
    assert page.value(name, labels) == 2
    assert page.value(name, labels, partition_index="0") is None


def test_there_are_no_more_series_than_allowed_and_those_left_out_are_counted() -> None:
    queues = [queue(partition(0, 1), ref=CrossClusterRef("pythia", f"//tmp/{i}")) for i in range(10)]
    everything = collect(ObjectMetrics(), queues)
    assert everything.shed == 0
    metrics = ObjectMetrics(max_series=everything.shown // 4)
    page = collect(metrics, queues)
    assert 0 < page.shown <= everything.shown // 4
    assert page.shown + page.shed == everything.shown
    assert len([line for line in page.text.splitlines() if not line.startswith("#")]) == page.shown
    assert "partition_index=" not in page.text

    earlier = queue(partition(0, 1), ref=CrossClusterRef("pythia", "//tmp/000"))
    assert "//tmp/000" not in collect(metrics, [earlier, *queues]).text


def test_names_of_the_other_agent_can_be_left_out() -> None:
    page = collect(ObjectMetrics(compatible=False), [queue(partition(0, 1))], [consumer(reading(0, 1))])
    assert not [name for name in page.names if name.startswith("yt_")]
    assert page.own("consumer_lag_rows", CONSUMER_LABELS) == 1


def test_a_tag_that_is_no_text_does_not_cost_the_page() -> None:
    tagged = replace(queue(partition(0, 1)), row=QueueRow(QUEUE, queue_profiling_tag="\udcff"))
    page = collect(ObjectMetrics(), [tagged])
    assert page.own("queue_rows", {**QUEUE_LABELS, "queue_tag": "?"}) == 1


def test_a_registration_that_is_broken_says_why() -> None:
    reader = {name: value for name, value in CONSUMER_LABELS.items() if name.startswith("consumer")}
    unreadable = replace(consumer(), content=ERROR)
    page = collect(ObjectMetrics(), [queue(failed())], [unreadable])
    assert page.own("registration_broken", CONSUMER_LABELS, reason="consumer_error") == 1
    not_compared = replace(consumer(), content=ConsumerView({QUEUE: ERROR}))
    page = collect(ObjectMetrics(), [], [not_compared])
    assert page.own("registration_broken", CONSUMER_LABELS, reason="queue_missing") == 1
    page = collect(ObjectMetrics(), [queue(failed())], [not_compared])
    assert page.own("registration_broken", CONSUMER_LABELS, reason="queue_error") == 1
    assert page.own("consumer_readable", reader) == 1
    page = collect(ObjectMetrics(), [queue(partition(0, 5))], [not_compared])
    assert page.own("registration_broken", CONSUMER_LABELS, reason="consumer_error") == 1, "its offsets cannot be read"
    assert page.own("consumer_readable", reader) == 0
    page = collect(ObjectMetrics(), [queue(partition(0, 5))], [consumer(reading(5, 0))])
    assert "queue_agent_registration_broken" not in page.names


def test_a_registration_says_why_it_is_broken_now_though_nothing_else_has_changed() -> None:
    page, led = ObjectMetrics(), queue(failed())
    not_compared = replace(consumer(), content=ConsumerView({QUEUE: ERROR}))
    before = collect(page, [led], [not_compared])
    after = collect(page, [led], [replace(not_compared, content=ERROR)])
    assert before.own("registration_broken", CONSUMER_LABELS, reason="queue_error") == 1
    assert after.own("registration_broken", CONSUMER_LABELS, reason="consumer_error") == 1


def test_the_queue_tells_of_a_registered_consumer_that_does_not_exist() -> None:
    led = queue(partition(0, 5))
    assert {"consumer_missing"} == _broken([led], known=())
    assert not _broken([led], known=(CONSUMER,))
    assert not _broken([replace(led, role=Role.FOLLOWING)], known=())
    assert not _broken([replace(led, banned_since=NOW)], known=())
    assert not _broken([led], known=None)


def _broken(queues: list[QueueSnapshot], known: tuple[CrossClusterRef, ...] | None) -> set[str]:
    """Reasons that belong to the registration."""
    by_ref = {one.ref: one for one in queues}
    page = Page(ObjectPage(MetricsConfig()).update(Objects(by_ref, {}, by_ref, known_consumers=known)))
    reasons = ("consumer_missing", "consumer_error", "queue_missing", "queue_error")
    return {one for one in reasons if page.own("registration_broken", CONSUMER_LABELS, reason=one) == 1}
