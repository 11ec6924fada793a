"""The metrics of the C++ agent: name, type, labels and meaning."""

from __future__ import annotations

from typing import Final

from queue_agent.adapters.metrics.metric_families import QUEUE_LABELS, Family, Kind, Level

_COUNTER: Final[Kind] = "counter"
_GAUGE: Final[Kind] = "gauge"
_AGGREGATES: Final = ("sum", "max", "avg")
_COMPATIBLE_PAIR_LABELS: Final = (
    "consumer_cluster",
    "consumer_path",
    "consumer_tag",
    "consumer_name",
    *QUEUE_LABELS,
    "partition_index",
)


def _compatible_queue(name: str, kind: Kind, text: str, *more: str) -> Family:
    return Family(f"yt_queue_agent_queue_{name}", kind, Level.QUEUE, (*QUEUE_LABELS, *more), text)


def _compatible_pair(name: str, kind: Kind, text: str) -> Family:
    return Family(f"yt_queue_agent_consumer_partition_{name}", kind, Level.PAIR, _COMPATIBLE_PAIR_LABELS, text)


def _controller(kind_of_object: str, path_labels: tuple[str, ...]) -> tuple[Family, ...]:
    prefix = f"yt_queue_agent_{kind_of_object}_controller_pass_"
    cluster = path_labels[0]
    labels = (cluster, "leading", *path_labels[1:], "object_type")
    of_cluster = (cluster, "leading")
    return (
        Family(f"{prefix}index", "gauge", Level.QUEUE, labels, "Number of the current pass, from 0."),
        Family(f"{prefix}start_time", "gauge", Level.QUEUE, labels, "When the pass began, in Unix seconds."),
        Family(
            f"{prefix}duration_max",
            "gauge",
            Level.CLUSTER,
            of_cluster,
            "The longest of the latest passes, in seconds; of all objects of a cluster only.",
        ),
        Family(f"{prefix}errors", "counter", Level.CLUSTER, of_cluster, "Failed passes; of all objects only."),
    )


COMPATIBLE_OBJECT_FAMILIES: Final = (
    _compatible_queue("partitions", "gauge", "Partitions."),
    _compatible_queue("consumers", "gauge", "Registrations; without the label vital all of them.", "vital"),
    *(
        _compatible_queue(
            f"partition_{name}", kind, f"{text} Without partition_index: of all partitions.", "partition_index"
        )
        for name, kind, text in (
            ("rows_written", _COUNTER, "Rows written."),
            ("rows_trimmed", _COUNTER, "Rows trimmed."),
            ("data_weight_written", _COUNTER, "Bytes written; absent if not known."),
            ("row_count", _GAUGE, "Present rows."),
            ("data_weight", _GAUGE, "Bytes of present rows; absent if unknown."),
        )
    ),
    _compatible_queue(
        "controller_alerts", "gauge", "1 while there is the alert, then 0; of all queues of a cluster too.", "category"
    ),
    *(
        _compatible_queue(f"static_export_{name}", kind, f"{text} Without export_name: by all exports.", "export_name")
        for name, kind, text in (
            ("exported_rows", _COUNTER, "Rows exported."),
            ("exported_chunks", _COUNTER, "Chunks exported."),
            ("exported_tables", _COUNTER, "Tables made."),
            ("skipped_tables", _COUNTER, "Tables that were due and could not be made."),
            ("export_task_errors", _COUNTER, "Tasks that failed."),
        )
    ),
    _compatible_queue(
        "static_export_time_lag",
        "gauge",
        "Seconds from the last table to the last moment one could be due; grows while a queue is idle.",
        "export_name",
    ),
    _compatible_queue("static_export_table_lag", "gauge", "The same in periods, rounded up.", "export_name"),
    Family(
        "yt_queue_agent_queue_static_export_row_count_mismatches",
        "counter",
        Level.QUEUE,
        (*QUEUE_LABELS, "leading", "export_name"),
        "Tablets whose last exported chunk did not end with the last exported row.",
    ),
    _compatible_pair("rows_consumed", "counter", "Rows read."),
    _compatible_pair("data_weight_consumed", "counter", "Bytes read; absent if not known."),
    _compatible_pair("offset_max", "gauge", "Index of the next row to read."),
    *(
        _compatible_pair(f"{name}_{aggregate}", "gauge", text)
        for name, text in (
            ("lag_rows", "Unread rows; negative if the consumer is ahead."),
            ("lag_data_weight", "Unread bytes; absent if not known."),
            ("lag_time", "Age of the next row to read in seconds; absent if not known."),
        )
        for aggregate in _AGGREGATES
    ),
    _compatible_pair(
        "lag_time_histogram",
        "histogram",
        "Partitions by the age of the next row to read, in milliseconds, as of now; with metrics.lag_time_histogram.",
    ),
    *_controller("queue", QUEUE_LABELS),
    *_controller("consumer", ("consumer_cluster", "consumer_path", "consumer_tag", "consumer_name")),
    *_controller("multi_consumer", ("multi_consumer_cluster", "multi_consumer_path", "multi_consumer_tag")),
    Family(
        "yt_queue_agent_multi_consumer_consumers",
        "gauge",
        Level.CONSUMER,
        ("multi_consumer_cluster", "multi_consumer_path", "multi_consumer_tag"),
        "Names in use in the table.",
    ),
    Family(
        "yt_queue_agent_multi_consumer_controller_alerts",
        "gauge",
        Level.CONSUMER,
        ("multi_consumer_cluster", "multi_consumer_path", "multi_consumer_tag", "category"),
        "1 while there is the alert, then 0.",
    ),
)

COUNT_LABELS: Final = ("yt_cluster", "leading_status", "queue_agent_stage", "object_type")
"""Each may be missing: then it is the sum over all of its values."""

_PASSES: Final = (
    ("", "of the agent"),
    ("queue_agent_sharding_manager_", "that distributes objects"),
    ("cypress_synchronizer_", "that writes the state tables"),
)

COMPATIBLE_AGENT_FAMILIES: Final = (
    Family("yt_build_version", "gauge", Level.AGENT, ("version",), "Always 1."),
    *(
        Family(f"yt_queue_agent_{name}", "gauge", Level.AGENT, ("host", *COUNT_LABELS), text)
        for name, text in (
            ("queues", "Queues."),
            ("consumers", "Consumers, named ones included."),
            ("multi_consumers", "Tables that hold several consumers."),
            ("multi_consumer_names", "Named consumers in such tables."),
            ("partitions", "Partitions of queues, and for every consumer those of its queues."),
            ("trimmed_queues", "Queues that ask to be trimmed."),
            ("erroneous_queues", "Queues that the agent cannot read."),
            ("erroneous_consumers", "Consumers that the agent cannot read."),
            ("erroneous_multi_consumers", "Multi-consumers that the agent cannot read."),
        )
    ),
    *(
        Family(f"yt_queue_agent_{prefix}pass_{name}", kind, Level.AGENT, ("host",), f"{text} the pass {whose}.")
        for prefix, whose in _PASSES
        for name, kind, text in (
            ("index", _GAUGE, "Number, from 0, of"),
            ("start_time", _GAUGE, "Unix seconds of the start of"),
            ("duration_max", _GAUGE, "Longest recent duration, in seconds, of"),
            ("errors", _COUNTER, "Failures of"),
        )
    ),
    Family("yt_queue_agent_banned", "gauge", Level.AGENT, ("host",), "1 if this agent is banned, 0 if not."),
)
