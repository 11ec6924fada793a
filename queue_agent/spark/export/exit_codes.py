"""How a run of an export ends, for schedulers and for people."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import NoReturn

import typer
from pyspark.errors import PySparkException
from yt.wrapper.errors import YtError

from queue_agent.spark.errors import ColumnError, ConnectorError, OptionError
from queue_agent.spark.export.errors import (
    ExportError,
    RangeRefused,
    SourceChanged,
    TargetDamaged,
    TargetTaken,
    words_of,
)


class ExitCode(IntEnum):
    """What a scheduler is told."""

    DONE = 0
    FAILED = 1
    """Trying again may help."""

    WRONG_ARGUMENTS = 2
    NOT_WHOLE = 3
    """Verification found faults."""

    SOURCE_CHANGED = 4
    """The queue was re-created, cut off, trimmed, or has another schema: somebody has to decide."""

    TARGET_TAKEN = 5
    """Another exporter is at work, or the target belongs to another."""

    TARGET_DAMAGED = 6
    RANGE_REFUSED = 7


def finish(run: Callable[[], ExitCode]) -> NoReturn:
    try:
        code = run()
    except (OptionError, ColumnError) as error:
        code = _tell(error, ExitCode.WRONG_ARGUMENTS)
    except SourceChanged as error:
        code = _tell(error, ExitCode.SOURCE_CHANGED)
    except TargetTaken as error:
        code = _tell(error, ExitCode.TARGET_TAKEN)
    except TargetDamaged as error:
        code = _tell(error, ExitCode.TARGET_DAMAGED)
    except RangeRefused as error:
        code = _tell(error, ExitCode.RANGE_REFUSED)
    except (ExportError, ConnectorError, YtError, PySparkException, OSError) as error:
        code = _tell(error, ExitCode.FAILED)
    raise typer.Exit(code)


def _tell(error: Exception, code: ExitCode) -> ExitCode:
    typer.echo(f"{type(error).__name__}: {words_of(error)}", err=True)
    return code
