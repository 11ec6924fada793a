"""The manual of the commands, by their names."""

from __future__ import annotations

from typing import Final

from yt_local.commands.manual import content, cypress, dynamic_tables, not_here, queues, service
from yt_local.commands.manual.entry import Manual

MANUAL: Final[dict[str, Manual]] = {
    name: manual
    for module in (cypress, dynamic_tables, content, queues, service, not_here)
    for name, manual in module.MANUAL.items()
}
