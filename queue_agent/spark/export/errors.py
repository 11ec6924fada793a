"""Why an export stops; each has an exit code of its own where a scheduler would act differently."""

from __future__ import annotations

from queue_agent.spark.errors import ConnectorError


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
