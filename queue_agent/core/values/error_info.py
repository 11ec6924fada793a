"""Errors as values: what a snapshot holds in place of what could not be seen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from queue_agent.core.values.encoding import Unsigned, encode_instant
from queue_agent.errors import ClusterError

GENERIC_CODE = 1


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A YTsaurus error."""

    message: str
    code: int = GENERIC_CODE
    attributes: Mapping[str, Any] = field(default_factory=dict)
    inner_errors: tuple[ErrorInfo, ...] = ()

    def to_map(self) -> dict[str, Any]:
        """The published form; `inner_errors` is left out when there are none, as YTsaurus does."""
        result: dict[str, Any] = {"code": self.code, "message": self.message, "attributes": dict(self.attributes)}
        if self.inner_errors:
            result["inner_errors"] = [inner.to_map() for inner in self.inner_errors]
        return result

    @classmethod
    def from_map(cls, value: Mapping[str, Any]) -> ErrorInfo:
        """Read the published form; members that are absent or make no sense get their defaults."""
        code, attributes, inner = value.get("code"), value.get("attributes"), value.get("inner_errors")
        message = value.get("message", "")
        return cls(
            message=str(message) if isinstance(message, str) else repr(message),
            code=int(code) if isinstance(code, int) else GENERIC_CODE,
            attributes=attributes if isinstance(attributes, Mapping) else {},
            inner_errors=tuple(
                cls.from_map(one)
                for one in (inner if isinstance(inner, list | tuple) else ())
                if isinstance(one, Mapping)
            ),
        )


OK_ERROR: Mapping[str, Any] = {"code": 0, "message": "", "attributes": {}}
"""Published form of "no error", where a field always holds one."""


def error_map(error: ErrorInfo | None) -> Mapping[str, Any]:
    """Published form of an error field that is there even when all is well."""
    return OK_ERROR if error is None else error.to_map()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where and when errors come up: created again for every pass."""

    host: str
    pid: int
    tid: int
    thread: str
    """Name with number, such as `Controller:0`."""

    fid: int
    trace_id: str
    """A guid as text, the same for all errors of a pass."""

    span_id: int
    instant: datetime

    def error(
        self,
        message: str,
        code: int = GENERIC_CODE,
        attributes: Mapping[str, Any] | None = None,
        inner_errors: Iterable[ErrorInfo] = (),
    ) -> ErrorInfo:
        """An error that carries this origin beside its own attributes."""
        origin = {
            "host": self.host,
            "pid": self.pid,
            "tid": Unsigned(self.tid),
            "fid": Unsigned(self.fid),
            "thread": self.thread,
            "trace_id": self.trace_id,
            "span_id": Unsigned(self.span_id),
            "datetime": encode_instant(self.instant),
        }
        return ErrorInfo(message, code, {**origin, **(attributes or {})}, tuple(inner_errors))

    def cluster_error(self, error: ClusterError) -> ErrorInfo:
        """A cluster's error in the agent's words, with the cluster's own inside."""
        inner = [ErrorInfo.from_map(error.details)] if error.details else []
        return self.error(error.message, error.code, inner_errors=inner)
