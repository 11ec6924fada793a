"""What the sections are made of: their base, and types of options that say how a value is written."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, PlainValidator

from queue_agent.core.values.scalars import MAX_DURATION
from yt_wire.error import YtError
from yt_wire.ypath import parse_rich


class ConfigModel(BaseModel):
    """Base of all sections: immutable, unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _from_milliseconds(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    try:
        return timedelta(milliseconds=value)
    except (OverflowError, ValueError) as error:  # the second for what is no number
        raise ValueError(f"must be at most {MAX_DURATION.days} days") from error


def _check_bound(value: timedelta) -> timedelta:
    if value > MAX_DURATION:
        raise ValueError(f"must be at most {MAX_DURATION.days} days")
    return value


def _to_milliseconds(value: timedelta) -> int:
    return value // timedelta(milliseconds=1)


_Milliseconds = Annotated[
    timedelta,
    BeforeValidator(_from_milliseconds, json_schema_input_type=float | timedelta),
    PlainSerializer(_to_milliseconds, when_used="json"),
    AfterValidator(_check_bound),
]
"""A bare number means milliseconds, as in YTsaurus itself; pydantic alone would say seconds."""

Duration = Annotated[_Milliseconds, Field(gt=timedelta(0))]
DurationOrZero = Annotated[_Milliseconds, Field(ge=timedelta(0))]


class TablePath(NamedTuple):
    """A table, on a cluster of its own or on that of the other state tables."""

    cluster: str | None
    path: str

    def __str__(self) -> str:
        return self.path if self.cluster is None else f"<cluster={self.cluster}>{self.path}"


def _parse_table_path(value: Any) -> Any:
    if value is None or isinstance(value, TablePath):
        return value
    try:
        rich = parse_rich(value)
    except YtError as error:
        raise ValueError(error.message) from error
    if not rich.path.startswith("//") or set(rich.attributes) - {"cluster"}:
        raise ValueError("must be a path that starts with //, with no attribute but cluster")
    return TablePath(rich.cluster, rich.path)


RichTablePath = Annotated[
    TablePath, PlainValidator(_parse_table_path, json_schema_input_type=str), PlainSerializer(str)
]
"""A path that may name a cluster: `<cluster=NAME>//path` or `NAME://path`."""
