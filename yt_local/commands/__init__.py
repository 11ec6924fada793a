"""The commands of the local cluster: one table serves every way in."""

from __future__ import annotations

from typing import Final

from yt_local.commands import (
    access,
    batch,
    cypress,
    dynamic_tables,
    files,
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
        queues,
        replicas,
        transactions,
        access,
        service,
        batch,
    )
    for command in module.COMMANDS
}
