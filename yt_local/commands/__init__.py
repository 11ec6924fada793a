"""What a cluster can be asked to do: a file for each command, or for a few that are done alike.

A file has the parameters of its commands, their handlers and manuals (`COMMANDS`), and the methods by which the RPC
proxy translates messages to them (`METHODS`).
"""

from __future__ import annotations

from typing import Final

from yt_local.calls.call import Method
from yt_local.calls.command import Command
from yt_local.commands import (
    add_member,
    advance_queue_consumer,
    alter_table,
    alter_table_replica,
    balance_tablets,
    check_permission,
    commit_transaction,
    concatenate,
    copy_node,
    create_node,
    discover_proxies,
    execute_batch,
    exists_node,
    file_cache,
    generate_timestamp,
    get_current_user,
    get_in_sync_replicas,
    get_node,
    get_table_columnar_statistics,
    get_table_mount_info,
    get_table_pivot_keys,
    get_tablet_infos,
    get_version,
    link_node,
    lock_node,
    lookup_rows,
    modify_rows,
    mount_table,
    not_here,
    parse_ypath,
    partition_tables,
    pull_queue,
    push_queue_producer,
    read_file,
    read_table,
    register_queue_consumer,
    remove_node,
    reshard_table,
    select_rows,
    set_node,
    start_transaction,
    trim_rows,
    user_tokens,
    write_file,
    write_table,
)

_FILES: Final = (
    get_node,
    exists_node,
    create_node,
    set_node,
    remove_node,
    copy_node,
    link_node,
    lock_node,
    mount_table,
    reshard_table,
    balance_tablets,
    alter_table,
    get_tablet_infos,
    get_table_mount_info,
    modify_rows,
    lookup_rows,
    select_rows,
    trim_rows,
    write_table,
    read_table,
    concatenate,
    partition_tables,
    get_table_columnar_statistics,
    write_file,
    read_file,
    file_cache,
    not_here,
    register_queue_consumer,
    pull_queue,
    advance_queue_consumer,
    push_queue_producer,
    alter_table_replica,
    get_in_sync_replicas,
    get_table_pivot_keys,
    start_transaction,
    commit_transaction,
    add_member,
    check_permission,
    get_current_user,
    user_tokens,
    generate_timestamp,
    discover_proxies,
    parse_ypath,
    get_version,
    execute_batch,
)
"""In the order of the reference."""

COMMANDS: Final[dict[str, Command]] = {command.name: command for file in _FILES for command in file.COMMANDS}
"""By their names, whichever proxy asks for them."""

METHODS: Final[dict[str, Method]] = {
    name: method for file in _FILES for method in file.METHODS for name in method.names
}
"""Methods of `ApiService`, by their names."""
