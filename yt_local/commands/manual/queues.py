"""Commands of the Queue API."""

from __future__ import annotations

from typing import Final

from yt_local.commands.manual.entry import Manual

_NOT_REGISTERED: Final = "the consumer is not registered for the queue; permissions"
_PULL: Final = {
    1: "a negative offset; a table that is static or sorted; a cluster nobody knows",
    500: "no such node",
    1701: "`partition_index` out of range",
    1702: "the tablet is neither mounted nor frozen",
    1736: "a replicated queue has no synchronous replica that has everything",
}
_ROWS: Final = (
    "Rows with `$tablet_index`, `$row_index` and all columns in the order of the schema. Only an empty answer means "
    "that there is nothing at the offset: an answer ends with the segment it began in, and with the row that "
    "reaches `max_data_weight`."
)
_PULL_CONSUMER: Final = Manual(
    "Rows of one partition for a consumer; without `offset` from where it stands.",
    _ROWS,
    {**_PULL, 901: _NOT_REGISTERED},
    ignored=("replica_consistency", "timeout"),
)
_ADVANCE: Final = Manual(
    "Moves a consumer's offset.",
    errors={
        1: "a negative partition or offset; a consumer table of another form; a consumer of another cluster",
        500: "no such node",
        901: _NOT_REGISTERED,
        1700: "somebody else has moved it since the transaction started; at the commit",
        1702: "the consumer's table is not mounted",
        3100: "the offset is not `old_offset`; attributes tell what it is",
    },
)

MANUAL: Final[dict[str, Manual]] = {
    "register_queue_consumer": Manual(
        "Lets a consumer read a queue; replaces the registration there may be.",
        errors={
            1: "a path does not lead to a table",
            901: "no permission `register_queue_consumer` with this vitality",
        },
        differs="Counts at once; a real cluster's proxies may take seconds. Cluster names are not shortened.",
    ),
    "unregister_queue_consumer": Manual(
        "Takes a registration back; there need not be one.",
        errors={901: "neither queue nor consumer may be removed by the user"},
    ),
    "list_queue_consumer_registrations": Manual(
        "Registrations of a queue, of a consumer, or all.",
        '`[{queue_path=<cluster=c>"//q"; consumer_path=<cluster=c>"//c"; vital=bool; partitions=#}; ...]`; '
        "`partitions` is a list if one was given.",
        differs="All may be listed, which newer clusters forbid.",
    ),
    "pull_queue": Manual(
        "Rows of one partition from an offset on.", _ROWS, _PULL, ignored=("replica_consistency", "timeout")
    ),
    "pull_queue_consumer": _PULL_CONSUMER,
    "pull_consumer": _PULL_CONSUMER,
    "advance_queue_consumer": _ADVANCE,
    "advance_consumer": _ADVANCE,
    "create_queue_producer_session": Manual(
        "Begins a session, or takes it over: the epoch grows, and whoever had it before is fenced off.",
        "`{epoch=int; sequence_number=int; user_meta=any}`; -1 before the first push.",
        {1: "the producer's table has another form", 500: "no such node", 1702: "the producer's table is not mounted"},
    ),
    "remove_queue_producer_session": Manual(
        "Forgets a session; there need not be one.",
        errors={1: "the producer's table has another form", 500: "no such node", 1702: "it is not mounted"},
    ),
    "push_queue_producer": Manual(
        "Writes rows to a queue, each once however often it is pushed.",
        "`{last_sequence_number=int; skipped_row_count=int}`",
        {
            1: "a path that is no queue or no producer; no such session; a `$sequence_number` that is no integer",
            307: "a row does not go with the schema",
            1700: "another push or owner of the session was faster",
            1701: "`$tablet_index` out of range",
            1702: "queue or producer is not mounted",
            1717: "more rows than a transaction may have",
            3101: "the epoch is greater than the session's",
            3102: "the epoch is less than the session's: somebody has taken it over",
            3103: "sequence numbers are missing, negative, given twice, or do not grow",
        },
        differs="Pushing only old rows, or none, leaves the stored number as it is; the first releases of the real "
        "command lowered it.",
    ),
}
