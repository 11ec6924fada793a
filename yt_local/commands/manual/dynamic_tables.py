"""Commands on tablets, rows and replicas of dynamic tables."""

from __future__ import annotations

from typing import Final

from yt_local.commands.manual.entry import Manual

_RESOLVE: Final = "no such node"
_TABLE: Final = "no table, or a static one"
_LIFECYCLE: Final = {
    1: "no table, or a static one; a range of tablets that is none; inside of a master transaction",
    402: "another transaction has locked the table",
    500: _RESOLVE,
}
_INSTANT: Final = "Done when it is answered: tablets are never seen in a state in between."
_ROWS: Final = {
    1: "no dynamic table; atomicity other than the table's; a replica table is written to directly",
    307: "a row does not go with the schema",
    500: _RESOLVE,
    1700: "somebody else has written a row since the transaction started; at the commit, or at once without one",
    1701: "`$tablet_index` out of range; the tablet was resharded since the transaction first wrote to it",
    1702: "a tablet is not mounted, or the table has no mounted one",
    1704: "the tablet was mounted anew since the transaction first wrote to it",
    1714: "a replicated table has no synchronous replica, and `require_sync_replica` is not false",
    1718: "the table at the end of a synchronous replica is bound to another replica",
    1717: "more rows than a transaction may have",
    11000: "no such tablet transaction",
}
_READS: Final = {
    1702: "a tablet is neither mounted nor frozen",
    1736: "a replicated table has no synchronous replica that has everything",
    11000: "no such tablet transaction",
}

MANUAL: Final[dict[str, Manual]] = {
    "mount_table": Manual(
        "Mounts tablets, frozen ones with `freeze`.",
        errors={**_LIFECYCLE, 1706: "a tablet is in a state that does not go with it"},
        ignored=("target_cell_ids",),
        differs=_INSTANT,
    ),
    "unmount_table": Manual(
        "Unmounts tablets; rows of an ordered one become a segment.",
        errors=_LIFECYCLE,
        differs=f"{_INSTANT} `force` loses nothing: there is nothing that is not flushed.",
    ),
    "freeze_table": Manual(
        "Makes tablets readable only; rows of an ordered one become a segment.",
        errors={**_LIFECYCLE, 1706: "a tablet is not mounted"},
        differs=_INSTANT,
    ),
    "unfreeze_table": Manual(
        "Makes frozen tablets writable again.",
        errors={**_LIFECYCLE, 1706: "a tablet is not mounted"},
        differs=_INSTANT,
    ),
    "remount_table": Manual(
        "Has changed attributes count.",
        errors=_LIFECYCLE,
        differs="Attributes count at once, without it.",
    ),
    "reshard_table": Manual(
        "Divides a table into other tablets.",
        errors={
            **_LIFECYCLE,
            1: "not exactly one of `tablet_count` and `pivot_keys`; `pivot_keys` of an ordered table, or out of order; "
            "tablets that were trimmed within a segment; a replicated table whose log is not empty",
            1706: "not all tablets are unmounted",
        },
        ignored=("enable_slicing", "slicing_accuracy"),
    ),
    "alter_table": Manual(
        "Changes the schema, makes a static table dynamic or back, binds a replica table.",
        errors={
            1: "a schema the old one cannot become; a dynamic table inside of a master transaction",
            402: "another transaction has locked the table",
            500: _RESOLVE,
            1706: "not all tablets are unmounted",
        },
        ignored=("schema_id", "schema_modification", "clip_timestamp", "constraints", "constrained_schema"),
        refused="A column to be added where the rows of before cannot be shown without it.",
        differs="`replication_progress` has no meaning: there are no chaos tables.",
    ),
    "get_tablet_infos": Manual(
        "How far each tablet is.",
        "`{tablets=[{total_row_count=int; trimmed_row_count=int; delayed_lockless_row_count=0; "
        "barrier_timestamp=uint64; "
        "last_write_timestamp=uint64}; ...]}` in the order of `tablet_indexes`; with "
        "`tablet_errors` if `request_errors`, "
        "with `replica_infos` for a replicated table.",
        {1: _TABLE, 500: _RESOLVE, 1701: "an index out of range", 1702: "a tablet is neither mounted nor frozen"},
    ),
    "get_tablet_errors": Manual(
        "Errors of tablets.",
        "`{tablet_errors={}; replication_errors={replica id=[error; ...]; ...}}`: why replicas are behind.",
        {1: _TABLE, 500: _RESOLVE},
        ignored=("limit",),
    ),
    "insert_rows": Manual(
        "Writes rows: by key to a sorted table, at the end of a tablet to an ordered one.",
        "an empty body",
        {**_ROWS, 1: f"{_ROWS[1]}; `update` or `aggregate` with an ordered table; `shared_write` that is not enabled"},
        ignored=("durability", "sequence_number", "table_writer"),
        differs="A row is on disk, with `--data-dir`, when it is answered, whatever `durability` says.",
    ),
    "delete_rows": Manual(
        "Deletes rows by their keys.",
        errors={**_ROWS, 1716: "the table is ordered"},
        ignored=("durability", "sequence_number", "table_writer"),
    ),
    "lock_rows": Manual(
        "Locks rows, or groups of their columns, for the tablet transaction.",
        errors={**_ROWS, 1: "no transaction; an unknown group; no dynamic table", 1716: "the table is ordered"},
        ignored=("table_writer",),
    ),
    "lookup_rows": Manual(
        "Rows by their keys.",
        "Rows in the order of the keys. Keys that are not there are left out, or `#` with `keep_missing_rows`; "
        "with `versioned` every column is a list of values with `timestamp`.",
        {
            **_READS,
            1: "no such column; columns or ranges in the path",
            307: "a key against the schema",
            1716: "ordered",
        },
        ignored=(
            "timeout",
            "read_from",
            "rpc_hedging_delay",
            "replica_consistency",
            "cached_sync_replicas_timeout",
            "use_lookup_cache",
            "enable_partial_result",
            "versioned_read_options",
            "table_writer",
        ),
        differs="Answers of replicated tables are always consistent.",
    ),
    "select_rows": Manual(
        "Rows by a query: [query-language.md](query-language.md).",
        "Rows with the selected columns, null ones too; statistics in the response parameters with "
        "`enable_statistics`.",
        {
            **_READS,
            1: "a query that cannot be parsed or typed, or would take a full scan or join that is not allowed",
            500: "a table of the query is not there",
        },
        ignored=(
            "timeout",
            "read_from",
            "range_expansion_limit",
            "max_subqueries",
            "min_row_count_per_subquery",
            "verbose_logging",
            "enable_code_cache",
            "workload_descriptor",
            "execution_pool",
            "udf_registry_path",
            "retention_timestamp",
            "use_canonical_null_relations",
            "merge_versioned_rows",
            "use_lookup_cache",
            "replica_consistency",
            "use_multijoin",
            "expression_builder_version",
            "execution_backend",
            "versioned_read_options",
        ),
        differs="There are no functions of users. What of the language is not there is told by query-language.md.",
    ),
    "explain_query": Manual(
        "How a query is going to be answered.",
        "a map that describes the plan; its form is that of a real cluster only in outline",
        {1: "a query that cannot be parsed or typed", 500: "a table of the query is not there"},
        ignored=("verbose_output", "udf_registry_path"),
    ),
    "trim_rows": Manual(
        "Forgets the rows of one tablet below an index; at once, outside of transactions.",
        errors={
            1: "the table is static or sorted; the index is beyond the end",
            500: _RESOLVE,
            1701: "`tablet_index` out of range",
            1702: "the tablet is not mounted (frozen is not enough)",
        },
        differs="Of a replicated table it is the log that is trimmed; replicas do not get what they had not got.",
    ),
    "alter_table_replica": Manual(
        "Changes a replica: on or off, synchronous or not, tracked or not.",
        errors={
            1: "no such mode; no replica",
            500: "no such object",
            901: "the user may not write to the replicated table",
            1706: "`atomicity` and `preserve_timestamps` do not go together",
        },
    ),
    "get_in_sync_replicas": Manual(
        "Which replicas have everything up to a timestamp.",
        "`[replica id; ...]`",
        {1: "the table is not replicated", 307: "a key against the schema", 500: _RESOLVE},
        ignored=("cached_sync_replicas_timeout",),
        differs="A replica is looked at as a whole: keys do not make a difference.",
    ),
    "get_table_pivot_keys": Manual(
        "First keys of the tablets of a sorted table.",
        "`[[value; ...]; ...]`",
        {500: _RESOLVE, 1716: "the table is ordered"},
        ignored=("represent_key_as_list",),
    ),
}
