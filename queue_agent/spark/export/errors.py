"""Why an export stops; each has an exit code of its own where a scheduler would act differently."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from yt.wrapper.errors import YtError

from queue_agent.spark.errors import ColumnError, ConnectorError, OptionError

_TRACEBACK: Final = "Traceback (most recent call last):"
_RAISED: Final = re.compile(r"(?:\w+\.)*(\w+): (.*)", re.DOTALL)
_END_OF_PYTHON: Final = re.compile(r"\n\s*\n|\n\s*SQLSTATE|\n\s*at |\n\*{5}")
_NO_NEWS: Final = "Received HTTP response with error"

_LASTING: Final[Mapping[str, type[ConnectorError]]] = {kind.__name__: kind for kind in (ColumnError, OptionError)}
"""By name: what a task would fail with again and again."""


class ExportError(ConnectorError):
    """The base of all that follow; trying again may help."""


class SourceChanged(ExportError):
    """The queue is not what was exported so far: somebody has to decide how to go on."""


class TargetTaken(ExportError):
    """Somebody else exports to this target, or by this consumer."""


class TargetDamaged(ExportError):
    """What is in the target contradicts itself, or is no export."""


class RangeRefused(ExportError):
    """Rows that were asked for can not be added to what is there."""


def words_of(error: BaseException) -> str:
    """What an error says, in a line or few: of a cluster's error its messages, not the request and the answer."""
    if isinstance(error, YtError):
        return ": ".join(dict.fromkeys(_messages({"message": error.message, "inner_errors": error.inner_errors})))
    return str(error)


def task_failure(error: Exception) -> ConnectorError:
    """What a task failed with, without the way there, which is in Spark's log.

    Args:
        error: as Spark or the bridge to its JVM raised it.
    """
    _, traceback, tail = str(error).rpartition(_TRACEBACK)
    if traceback:
        # The last of them is that of the exception that nobody caught; lines of its frames are indented.
        lines = tail.split("\n")
        begin = next((number for number, line in enumerate(lines) if line and not line.startswith(" ")), 0)
        words = _END_OF_PYTHON.split("\n".join(lines[begin:]), maxsplit=1)[0].strip()
    else:
        words = re.split(r"\n\s*at ", tail, maxsplit=1)[0].strip()
    raised = _RAISED.fullmatch(words)
    if traceback and raised is not None and raised[1] in _LASTING:
        return _LASTING[raised[1]](raised[2])
    return ExportError("tasks failed: " + (f"{raised[1]}: {raised[2]}" if traceback and raised else words))


def _messages(error: Mapping[str, Any]) -> Iterator[str]:
    message = str(error.get("message", ""))
    if message and message != _NO_NEWS:
        yield message
    for inner in error.get("inner_errors") or ():
        yield from _messages(inner)
