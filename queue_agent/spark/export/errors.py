"""Why an export stops; each has an exit code of its own where a scheduler would act differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from yt.wrapper.errors import YtError

from queue_agent.spark.errors import ColumnError, ConnectorError, OptionError
from queue_agent.spark.worker_errors import find_worker_error, words_of_spark

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
    """Rows that were asked for cannot be added to what is there."""


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
    found = find_worker_error(error)
    if found is not None and found.kind in _LASTING:
        return _LASTING[found.kind](found.message)
    return ExportError(f"tasks failed: {words_of_spark(error)}")


def _messages(error: Mapping[str, Any]) -> Iterator[str]:
    message = str(error.get("message", ""))
    if message and message != _NO_NEWS:
        yield message
    for inner in error.get("inner_errors") or ():
        yield from _messages(inner)
