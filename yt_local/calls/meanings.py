"""What parameters mean that several commands have: most mean the same wherever they occur."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COMMON: Final[dict[str, str]] = {
    "transaction_id": "the transaction of the command; the null id means none",
    "prerequisite_transaction_ids": "transactions that must exist",
    "prerequisite_revisions": "maps of `path`, `revision` and `transaction_id`: what must not have changed",
    "suppress_expiration_timeout_renewal": "the command does not restart the node's `expiration_timeout`",
}
"""Those that commands on the tree share."""

SHARED: Final[Mapping[str, str]] = {
    **COMMON,
    "allow_full_scan": "allow a query whose conditions limit no keys",
    "allow_join_without_index": "allow a join on columns that are not keys of the other table",
    "atomicity": "must match the table",
    "cache_path": "the cache, a map node",
    "consumer_path": "the consumer; with `<cluster=...>` on another cluster",
    "data_weight_per_row_hint": "bytes; lowers the number of rows to `max_data_weight / hint`, at least one",
    "destination_path": "target path",
    "durability": "no effect",
    "first_tablet_index": "of a range of tablets; all if not given",
    "force": "replace an existing node",
    "group": "name of the group",
    "ignore_existing": "do nothing if the node exists",
    "last_tablet_index": "of a range of tablets, including",
    "lock_existing": "with `ignore_existing`: lock the existing node",
    "lock_type": "how rows are locked",
    "max_data_weight": "bytes; the row that reaches it is the last; 16 MiB if not given",
    "max_row_count": "1000 if not given",
    "max_size": "children of one node at most",
    "md5": "of the content, 32 hexadecimal digits",
    "member": "name of a user or group",
    "partition_index": "the partition, which is a tablet",
    "password_sha256": "needed unless the caller is a superuser",
    "path": "the node",
    "permission": "`read`, `write`, `remove`, ...",
    "preserve_account": "as the original has it",
    "preserve_acl": "as the original has it",
    "preserve_creation_time": "as the original has it",
    "preserve_expiration_time": "as the original has it",
    "preserve_expiration_timeout": "as the original has it",
    "preserve_modification_time": "as the original has it",
    "preserve_owner": "as the original has it",
    "producer_path": "the producer",
    "query": "the query, without `select`",
    "queue_path": "the queue; with `<cluster=...>` on another cluster",
    "recursive": "create missing map nodes on the path",
    "operation_id": "the operation",
    "require_sync_replica": "refuse a replicated table without a synchronous replica",
    "return_only_value": "the bare value, as ytsaurus-client wants it",
    "session_id": "name of the session",
    "source_path": "source path",
    "syntax_version": "2 lets `[a.b]` stand for a column of that name",
    "timestamp": "time of the read; default: now",
    "type": "kind",
    "user": "name of the user",
    "user_meta": "kept with the session; what there is stays if null",
    "vital": "whether rows are kept until the consumer has read them",
}
"""Those that several commands have; what a command has alone, or means otherwise, is in its own manual."""
