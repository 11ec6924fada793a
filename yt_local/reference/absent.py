"""Commands of a real cluster that are not there: 404, and clients say that they are not supported."""

from __future__ import annotations

from typing import Final

ABSENT: Final[dict[str, tuple[str, ...]]] = {
    "Jobs": (
        "get_job_input",
        "get_job_input_paths",
        "abort_job",
        "abandon_job",
        "dump_job_context",
        "poll_job_shell",
    ),
    "Balancing of tablets": (
        "suspend_tablet_cells",
        "resume_tablet_cells",
    ),
    "Chaos replication, backups": (
        "alter_replication_card",
        "update_replication_progress",
        "pull_rows",
        "create_table_backup",
        "restore_table_backup",
    ),
    "Other ways to read and write": (
        "read_blob_table",
        "read_table_partition",
        "write_table_fragment",
        "start_distributed_write_session",
        "finish_distributed_write_session",
        "locate_skynet_share",
        "read_journal",
        "write_journal",
        "truncate_journal",
    ),
    "Cells, accounts, pools, maintenance": (
        "externalize",
        "internalize",
        "transfer_pool_resources",
        "build_snapshot",
        "build_master_snapshots",
        "switch_leader",
        "add_maintenance",
        "remove_maintenance",
    ),
}
"""By what they are about."""

NEVER_ANSWERED: Final[dict[int, str]] = {
    1703: "writes cannot be disabled as a whole",
    1707: "there is nothing that could not be ready",
    1712: "rows are never blocked: a conflict fails at once",
    1713: "rows are never blocked",
    1715: "invalid commands on replicated tables fail with 1",
    1720: "bundles have no limits",
    1721: "a cell that is not there fails a mount with 500",
    1722: "replicas are asked at commit: 1714 and 1736 tell what is missing",
    1723: "see 1722",
    1724: "see 1722",
    1725: "nothing is throttled",
    1732: "see 1722",
    1735: "nothing is loaded on demand",
    1738: "schemas that do not go together fail with 1",
    1744: "tablets are in no state in between",
    11003: "a transaction that is over is not there any more: 11000",
    11008: "an atomicity that is not the table's fails with 1",
}
"""Codes a client may know of, and why it does not get them here."""
