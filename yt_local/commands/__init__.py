"""The commands of the local cluster: one table serves every way in."""

from __future__ import annotations

from typing import Final

from yt_local.commands import (
    access,
    batch,
    cypress,
    dynamic_tables,
    files,
    not_here,
    partitioning,
    queues,
    replicas,
    service,
    static_tables,
    tablets,
    transactions,
)
from yt_local.commands.command import Command

COMMANDS: Final[dict[str, Command]] = {
    command.name: command
    for module in (
        cypress,
        tablets,
        dynamic_tables,
        static_tables,
        partitioning,
        files,
        not_here,
        queues,
        replicas,
        transactions,
        access,
        service,
        not_here,
        batch,
    )
    for command in module.COMMANDS
}
