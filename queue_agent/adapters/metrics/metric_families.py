"""Our own metrics of objects and of the agent: name, type, labels and meaning; docs/metrics.md is made of them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram"]

_COUNTER: Final[Kind] = "counter"
_GAUGE: Final[Kind] = "gauge"


class Level(enum.Enum):
    """What a series is about."""

    AGENT = "agent"
    CLUSTER = "cluster of an agent"
    QUEUE = "queue"
    QUEUE_PARTITION = "queue partition"
    CONSUMER = "consumer"
    PAIR = "consumer and queue"
    PAIR_PARTITION = "consumer and queue partition"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric."""

    name: str
    """As its samples have it, but for `_bucket` and its like; counters of our own end in `_total`."""

    kind: Kind
    level: Level
    labels: tuple[str, ...]
    help: str

    @property
    def open_name(self) -> str:
        """As OpenMetrics has it in `# TYPE`."""
        return self.name.removesuffix("_total") if self.kind == "counter" else self.name


QUEUE_LABELS: Final = ("queue_cluster", "queue_path", "queue_tag")
CONSUMER_LABELS: Final = ("consumer_cluster", "consumer_path", "consumer_name", "consumer_tag")
PAIR_LABELS: Final = (*CONSUMER_LABELS, *QUEUE_LABELS)


def _queue(name: str, kind: Kind, text: str, *more: str) -> Family:
    return Family(f"queue_agent_queue_{name}", kind, Level.QUEUE, (*QUEUE_LABELS, *more), text)


def _agent(name: str, kind: Kind, text: str, *labels: str) -> Family:
    return Family(f"queue_agent_{name}", kind, Level.AGENT, labels, text)


def _queue_partition(name: str, kind: Kind, text: str) -> Family:
    labels = (*QUEUE_LABELS, "partition_index")
    return Family(f"queue_agent_queue_partition_{name}", kind, Level.QUEUE_PARTITION, labels, text)


def _pair(name: str, kind: Kind, text: str, *more: str) -> Family:
    return Family(f"queue_agent_consumer_{name}", kind, Level.PAIR, (*PAIR_LABELS, *more), text)


def _pair_partition(name: str, kind: Kind, text: str) -> Family:
    labels = (*PAIR_LABELS, "partition_index")
    return Family(f"queue_agent_consumer_partition_{name}", kind, Level.PAIR_PARTITION, labels, text)


_VERDICT_FAMILIES: Final = (
    _pair("verdict", "gauge", "1 for the present verdict on the consumer; see docs/verdicts.md.", "verdict"),
    _pair("verdict_since_timestamp_seconds", "gauge", "Since when the verdict has held."),
    _pair(
        "rows_read_total",
        "counter",
        "Rows really read since the agent first polled the consumer; trimmed rows that a commit passes are not.",
    ),
    _pair(
        "trimmed_uncommitted_rows_total",
        "counter",
        "Rows trimmed before the consumer had committed them, since the agent first polled it.",
    ),
    _pair("lost_rows_total", "counter", "Of these: the reader cannot have had them in flight."),
    _pair("possibly_lost_rows_total", "counter", "Of these: all others."),
    _pair(
        "skipped_rows_total",
        "counter",
        "Rows of a re-created queue that the consumer passed because it read on from its old offset.",
    ),
    _pair("last_loss_timestamp_seconds", "gauge", "When rows were last trimmed uncommitted; absent if none ever were."),
    _pair(
        "lost_rows_per_second",
        "gauge",
        "Rows trimmed uncommitted a second since that began; absent unless the verdict is losing. The labels tell"
        " the cause, and who made the trimming possible.",
        "cause",
        "subject",
    ),
    _pair("drainable_rows", "gauge", "Unread rows that are still there."),
    _pair(
        "stopped_partitions",
        "gauge",
        "Partitions that the consumer has stopped or stalled in, whatever the verdict; absent if there are none.",
    ),
    _pair(
        "dead", "gauge", "Whether a vital consumer that holds rows has been silent for too long; absent while it reads."
    ),
    _pair("held_rows", "gauge", "Rows kept only for a vital consumer that does not read."),
    _pair("held_bytes", "gauge", "Their data weight; absent if it is not known."),
    _pair("pace_seconds", "gauge", "Usual time between two advances of the offset; absent while it is not known."),
    _pair("patience_seconds", "gauge", "Silence after which the consumer is stopped; absent while it is not known."),
    _pair("time_to_catch_up_seconds", "gauge", "Seconds until nothing is unread; absent if that is not known."),
    _pair("time_to_loss_seconds", "gauge", "Seconds until an unread row is trimmed; absent if not foreseen.", "cause"),
    _pair("time_to_loss_earliest_seconds", "gauge", "Seconds until an unread row is trimmed, at the earliest."),
    _pair(
        "objective_seconds_total",
        "counter",
        "Seconds since the freshness objective was set, by outcome: good, bad or unknown; absent without an objective.",
        "outcome",
    ),
    _pair("objective_target_ratio", "gauge", "Share of seconds that are to be good; absent without an objective."),
)

OWN_OBJECT_FAMILIES: Final = (
    _queue("readable", "gauge", "1 if the agent could read the queue, 0 if not."),
    _queue("partitions", "gauge", "Partitions by state, ok or error; absent while the queue is not readable.", "state"),
    _queue("registrations", "gauge", "Consumers registered, by whether they are vital.", "vital"),
    _queue("rows_written_total", "counter", "Rows written since the agent began to lead the queue."),
    _queue("rows_trimmed_total", "counter", "Rows trimmed by anybody since the agent began to lead the queue."),
    _queue(
        "written_bytes_total",
        "counter",
        "Data weight written since the agent began to lead the queue; absent without $cumulative_data_weight.",
    ),
    _queue("rows", "gauge", "Present rows of readable partitions; absent if no partition is readable."),
    _queue("bytes", "gauge", "Data weight of present rows; absent without $cumulative_data_weight."),
    _queue("last_write_timestamp_seconds", "gauge", "When the last row was written; absent if none ever was."),
    _queue(
        "trim_constraint_partitions",
        "gauge",
        "Partitions by what keeps them from being trimmed further; absent if the queue is not to be trimmed.",
        "kind",
    ),
    _queue(
        "trim_held_rows",
        "gauge",
        "Rows that only the named constraint keeps from trimming; absent if unknown.",
        "kind",
    ),
    _queue("exported_rows_total", "counter", "Rows in tables made by a static export.", "export_name"),
    _queue("exported_tables_total", "counter", "Tables made by a static export.", "export_name"),
    _queue(
        "export_skipped_tables_total",
        "counter",
        "Tables that were due and could not be made, counted by every task that leaves them out.",
        "export_name",
    ),
    _queue("export_errors_total", "counter", "Tasks of a static export that failed.", "export_name"),
    _queue(
        "export_last_success_timestamp_seconds",
        "gauge",
        "When a task of a static export last left nothing out; absent if none ever did.",
        "export_name",
    ),
    _queue(
        "export_last_table_timestamp_seconds",
        "gauge",
        "Tick of the last table of a static export; absent if there is none. An idle queue gets no tables.",
        "export_name",
    ),
    _queue(
        "quarantine",
        "gauge",
        "1 for each vital consumer that has notice (announced) or whose unread rows are trimmed (started); see"
        " docs/quarantine.md.",
        "consumer_cluster",
        "consumer_path",
        "consumer_name",
        "state",
    ),
    _queue("alerts", "gauge", "1 for each alert the queue has now; absent if it has none.", "category"),
    _queue_partition("rows", "gauge", "Present rows."),
    _queue_partition("rows_written_total", "counter", "Rows written since the agent began to lead the queue."),
    _queue_partition("rows_trimmed_total", "counter", "Rows trimmed since the agent began to lead the queue."),
    Family(
        "queue_agent_consumer_readable",
        "gauge",
        Level.CONSUMER,
        CONSUMER_LABELS,
        "1 if the agent could read the consumer, 0 if not.",
    ),
    *_VERDICT_FAMILIES,
    _pair("vital", "gauge", "1 if the consumer is vital to the queue, 0 if not."),
    Family(
        "queue_agent_registration_broken",
        "gauge",
        Level.PAIR,
        (*PAIR_LABELS, "reason"),
        "1 if the consumer and the queue cannot be compared, by the reason: consumer_missing (the consumer does not"
        " exist), queue_missing, consumer_error, queue_error; or objective_error (its @queue_agent_objective cannot be"
        " read). Else absent.",
    ),
    _pair(
        "registration_ok", "gauge", "1 if the agent can compare consumer and queue, 0 if it cannot read one of them."
    ),
    _pair(
        "partitions",
        "gauge",
        "Partitions the consumer is registered for, by its position: up_to_date, pending_consumption, ahead,"
        " expired (the next row has been trimmed), or error.",
        "disposition",
    ),
    _pair("read_bytes_total", "counter", "Data weight read; absent if unknown."),
    _pair("lag_rows", "gauge", "Unread rows, trimmed ones included; 0 if the consumer is ahead."),
    _pair("lag_bytes", "gauge", "Data weight of unread rows; absent if unknown."),
    _pair(
        "lag_seconds",
        "gauge",
        "Age of the oldest unread row of all partitions whose age is known; 0 if all is read, absent if none is known.",
    ),
    _pair(
        "lag_unknown_partitions",
        "gauge",
        "Partitions with unread rows of unknown age, for the queue has no $timestamp or the next row is gone:"
        " lag_seconds does not tell of them.",
    ),
    _pair("expired_rows", "gauge", "Unread rows that have been trimmed, and are lost to the consumer."),
    _pair(
        "headroom_rows",
        "gauge",
        "Rows between the oldest row and the next row to read, in the partition with the fewest"
        " among those with unread rows; 0: the next trim loses rows. Absent if everything is read.",
    ),
    _pair("last_commit_timestamp_seconds", "gauge", "When an offset was last committed; absent if none ever was."),
    _pair_partition("lag_rows", "gauge", "Unread rows; negative if the consumer is ahead."),
    _pair_partition("lag_seconds", "gauge", "Age of the next row to read; absent if it is not known."),
    _pair_partition("next_row_index", "gauge", "Index of the next row to read."),
)

_ACCOUNT: Final = ("account_cluster", "account", "resource", "medium")
"""Labels of an account's resource."""

OWN_AGENT_FAMILIES: Final = (
    _agent("build_info", "gauge", "Always 1; the label is the build.", "version"),
    _agent("passes_total", "counter", "Finished passes, failed ones included.", "kind"),
    _agent("pass_errors_total", "counter", "Failed passes.", "kind"),
    _agent("pass_duration_seconds", "histogram", "Duration of passes, failed ones included.", "kind"),
    _agent(
        "contained_errors_total",
        "counter",
        "Errors nobody expected that showed at one object and were kept from all others, since the process began. Each"
        " is a bug: the log has its traceback.",
        "place",
    ),
    _agent(
        "last_successful_pass_timestamp_seconds",
        "gauge",
        "When the last pass that succeeded began; absent before the first.",
        "kind",
    ),
    _agent(
        "cluster_requests_total",
        "counter",
        "HTTP requests to clusters, each repeat on its own; a batch is one.",
        "yt_cluster",
        "command",
        "outcome",
    ),
    _agent(
        "cluster_request_duration_seconds",
        "histogram",
        "Duration of HTTP requests to clusters, to the end of the answer.",
        "yt_cluster",
        "command",
    ),
    _agent(
        "trim_journal_records_total",
        "counter",
        "Records of trims: written to the journal, or dropped because that failed for too long.",
        "outcome",
    ),
    _agent("trim_journal_errors_total", "counter", "Failed attempts to write to the journal of trims."),
    _agent("consumer_ledger_rows_total", "counter", "Rows written to the table that keeps what is known of consumers."),
    _agent(
        "consumer_ledger_errors_total",
        "counter",
        "Failed attempts to read or write the table that keeps what is known of consumers.",
    ),
    _agent(
        "consumer_ledger_waiting",
        "gauge",
        "Consumers of queues whose changes are due and not written: with too many changes only the last are kept.",
    ),
    _agent(
        "events_total",
        "counter",
        "Events: written to the table, or dropped because there were too many or writing failed for too long.",
        "outcome",
    ),
    _agent("event_errors_total", "counter", "Failed attempts to write events."),
    _agent(
        "history_rows_total",
        "counter",
        "Rows of the history: written, or dropped because that failed for too long.",
        "outcome",
    ),
    _agent("history_errors_total", "counter", "Failed attempts to write to the history."),
    _agent("history_waiting_rows", "gauge", "Rows of the history waiting to be written."),
    _agent(
        "logins_total",
        "counter",
        "Tokens given to log in: accepted, refused, limited (the address fails too often), or unavailable (the cluster"
        " did not answer).",
        "outcome",
    ),
    _agent(
        "objects",
        "gauge",
        "Objects of this agent: queue, consumer or multi_consumer; ok, or error if the agent cannot read it.",
        "kind",
        "state",
    ),
    Family(
        "queue_agent_account_time_to_quota_seconds",
        "gauge",
        Level.AGENT,
        _ACCOUNT,
        "Seconds until an account that pays for queues led here is full, at its growth of the last 6 hours. Absent if"
        " it does not grow, if that takes longer than 30 days, or if nobody knows.",
    ),
    Family(
        "queue_agent_account_used_ratio",
        "gauge",
        Level.AGENT,
        _ACCOUNT,
        "Share of its limit that an account uses.",
    ),
    _agent(
        "account_held_growth_ratio",
        "gauge",
        "Share of the account's growth that is rows of queues led here which vital consumers and exports keep from"
        " being trimmed; the labels name the largest holder. Absent if nobody holds any.",
        *_ACCOUNT,
        "held_queue",
        "holder",
    ),
    _agent("alerts", "gauge", "1 for each alert of the agent as a whole.", "category"),
    _agent(
        "alert_last_timestamp_seconds",
        "gauge",
        "When an alert of the agent as a whole was raised last: now while it is, and kept after it has gone.",
        "category",
    ),
    _agent("group_member", "gauge", "1 while the agent is one of those of its stage, else 0."),
    _agent(
        "state_keeper", "gauge", "1 while this agent keeps the state tables, else 0; of all agents of a stage one does."
    ),
    _agent("series", "gauge", "Series of objects: shown, or shed for want of room (metrics.max_series).", "outcome"),
    _agent("series_shed_total", "counter", "Series of objects left out, counted at every rebuild of the metrics."),
    _agent("metrics_render_duration_seconds", "histogram", "Duration of a rebuild of the metrics, in a thread."),
)
