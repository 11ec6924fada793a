"""Log lines on standard error, by structlog."""

from __future__ import annotations

import sys
from typing import Literal

import structlog


def configure_logging(level: str, line_format: Literal["json", "console"]) -> None:
    """Write log lines to standard error: an event with its fields, and those bound to the task.

    Args:
        level: the least severe lines to write: `debug`, `info`, `warning` or `error`.
        line_format: `json` for programs, `console` for people.
    """
    processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if line_format == "json":
        processors += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # The default shows local variables, tokens among them, and takes long.
        traceback = structlog.dev.plain_traceback
        processors.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=traceback))
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
