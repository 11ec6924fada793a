"""Commands on what static tables and files consist of."""

from __future__ import annotations

from typing import Final

from yt_local.commands.manual.entry import Manual

_LOCKED: Final = "another transaction has locked it, or it has been changed while it was written to"

MANUAL: Final[dict[str, Manual]] = {
    "write_table": Manual(
        "Replaces the rows of a static table, or adds to them with `<append=%true>`; all at once, at the end.",
        errors={
            1: "a dynamic table; attributes of the path that contradict each other or the table's schema",
            301: "rows are not in the order of the schema's keys",
            307: "a row does not go with the schema; keys that have to be unique are not",
            402: _LOCKED,
            500: "no such node: `write_table` of the HTTP API makes none, clients make it before",
        },
        ignored=("max_row_buffer_size",),
        refused="`chunk_sort_columns` and `chunk_unique_keys` in the path.",
        differs="Computed columns are not filled in; of a column that a row has twice the last value counts.",
    ),
    "read_table": Manual(
        "Rows of a table, or the columns and ranges that its path names.",
        "Rows, with control attributes between them if asked for; the response parameters have `start_row_index` and "
        "`approximate_row_count`.",
        {1: "no table; ranges that do not go with it", 500: "no such node"},
        ignored=("unordered", "table_reader", "omit_inaccessible_columns", "omit_inaccessible_rows"),
        differs="Rows of dynamic tables are read whatever state their tablets are in. An error "
        "after the first MiB cuts the "
        "answer off.",
    ),
    "partition_tables": Manual(
        "What tables, or parts of them, are divided into for readers that work side by side.",
        "`{partitions=[{table_ranges=[path; ...]; aggregate_statistics={chunk_count; data_weight; row_count}}; ...]}`; "
        "every path has `ranges`, nothing stands for what is empty",
        {1: "no table; `sorted` mode; more partitions than there may be", 500: "no such node"},
        ignored=("enable_key_guarantee", "enable_cookies", "chunk_slice_fetcher_config"),
        differs="Static tables are cut between any two rows; dynamic ones between tablets, or not at all if ranges "
        "were given.",
    ),
    "concatenate": Manual(
        "Tables, or files, one after the other into another; chunks are shared.",
        errors={
            1: "tables and files together; dynamic tables; schemas that do not go together",
            402: _LOCKED,
            500: "no such node",
        },
        ignored=("uniqualize_chunks",),
    ),
    "write_file": Manual(
        "Replaces the content of a file, or adds to it with `<append=%true>`; all at once, at the end.",
        errors={1: "no file", 402: _LOCKED, 500: "no such node"},
        ignored=("file_writer",),
    ),
    "read_file": Manual(
        "The content of a file, or a part of it.",
        "bytes",
        {1: "no file; a part that is none", 500: "no such node"},
        ignored=("file_reader", "etag", "etag_revision"),
        differs="An error after the first MiB cuts the answer off.",
    ),
    "get_file_from_cache": Manual(
        "Where the file with an MD5 is in a cache.", '`"//path"`, or `""` if it is not there'
    ),
    "put_file_to_cache": Manual(
        "Copies a file into a cache.",
        '`"//path"` in the cache',
        {1: "no file; no MD5, or another one", 500: "no such node", 901: "the cache may not be used by the user"},
        ignored=("preserve_expiration_timeout",),
    ),
}
