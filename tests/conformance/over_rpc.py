"""What `make conformance-rpc` leaves out: what the driver of YTsaurus (1.0.1) does in another way, or not at all.

The cluster has little part in it: the driver refuses, has its own words, or ends its process before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from typing import Final

_LEFT_OUT: Final[Mapping[str, Sequence[str]]] = {
    "it issues no tokens, so that nobody but root is there, and knows no impersonation": (
        "test_access*::*",
        "test_subjects.py::*",
        "test_tokens.py::*",
        "test_cypress.py::test_a_tree_grows_no_deeper_*",
        "test_replicated_tables.py::test_who_may_*",
        "test_restart.py::test_everything_is_as_it_was",
        "test_system_objects.py::test_only_superusers_*",
        "test_table_settings.py::test_there_is_one_cell_*",
    ),
    "it pulls for no consumer without an offset": (
        "test_multi_consumers.py::test_each_name_*",
        "test_queues.py::test_*consumer*",
        "test_queues.py::test_an*",
        "test_queues.py::test_paths_are_resolved_*",
        "test_queues.py::test_the_offset_is_a_row_*",
        "test_queues.py::test_trimmed_rows_are_skipped",
        "test_queues.py::test_without_a_registration_*",
        "test_replicated_queues.py::test_consumers_read_*",
    ),
    "it advances consumers by itself, and those alone that it knows": (
        "test_load.py::test_of_many_who_race_one_wins[[]advance]",
        "test_multi_consumers.py::test_names_go_with_*",
        "test_queue_transactions.py::test_a_consumer_of_another_cluster_*",
    ),
    "it sends schemas without unique_keys unless they are told to have them": (
        "test_alter_table.py::*",
        "test_replicated_tables.py::test_replicas_may_follow_*",
        "test_sorted_sharding.py::test_tablets_survive_*",
    ),
    "it looks at rows, keys and settings itself, and has its own words for what is wrong": (
        "test_columnar_statistics.py::test_directories_*",
        "test_errors.py::test_a_row_that_is_wrong_*",
        "test_schema_features.py::test_computed_columns_are_not_*",
        "test_schema_features.py::test_ordered_tables_take_neither_*",
        "test_sorted_sharding.py::test_pivot_keys_that_do_not_fit_*how7*",
        "test_sorted_tables.py::test_ordered_tables_know_no_keys",
        "test_static_tables.py::test_heavy_rows_and_keys_*",
        "test_tablet_transactions.py::test_a_transaction_writes_no_more_rows_*",
    ),
    "it does not send this parameter": (
        "test_dynamic_tables.py::test_trimmed_rows_are_gone_*",
        "test_replicated_queues.py::test_rows_are_pushed_*",
        "test_sorted_sharding.py::test_pivot_keys_that_do_not_fit_*how8*",
        "test_sorted_tables.py::test_versioned_lookups_take_no_*",
        "test_table_modes.py::test_queues_are_read_*",
        "test_tablet_transactions.py::test_a_transaction_reads_as_of_its_start_*",
        "test_tablet_transactions.py::test_only_a_strong_lock_*",
        "test_tablets.py::test_new_tablets_can_start_*",
    ),
    "its answers tell more": (
        "test_select_language.py::test_statistics_*",
        "test_sorted_tables.py::test_a_versioned_lookup_*",
    ),
    "it knows no transactions without atomicity that somebody else has begun": (
        "test_tablet_transactions.py::test_without_atomicity_*",
    ),
    "it ends its process when a structured value is to be added to an aggregate column": (
        "test_schema_features.py::test_written_values_*",
    ),
    "it hangs when it reads in parallel": (
        "test_files.py::test_a_large_file_*",
        "test_static_reading.py::test_tables_are_written_and_read_in_parallel",
    ),
    "it goes on with what a dropped HTTP connection ends": ("test_files.py::test_an_upload_whose_connection_is_cut_*",),
    "it has no such command": ("test_system_nodes.py::test_what_the_web_interface_asks_*",),
    "it is tested by itself": ("test_rpc_driver.py::*",),
}


def reason_to_leave_out(name: str) -> str | None:
    """Why a test, named by `file::test`, has no place in a run over RPC; None: it has."""
    for reason, patterns in _LEFT_OUT.items():
        if any(fnmatch(name, pattern) for pattern in patterns):
            return reason
    return None
