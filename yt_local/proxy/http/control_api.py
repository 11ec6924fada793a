"""`/test/...`: what tests do to a cluster from outside; served on request only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from yt_local.base.clock import format_instant
from yt_local.base.faults import Cut, Delay, Drop, Effect, Fault, Hang, HttpStatus, Refuse, Scope
from yt_local.base.request_log import LoggedRequest
from yt_local.cluster import Cluster
from yt_local.security.permissions import UNLIMITED, Access
from yt_local.tables.dynamic.tablets import TabletRange
from yt_wire.error import YtError

PREFIX: Final = "/test/"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Scope(_Model):
    commands: frozenset[str] = frozenset()
    path: str = ""


class _Fault(_Scope):
    count: int | None = Field(default=None, ge=1)


class _Refuse(_Fault):
    kind: Literal["refuse"]
    error: dict[str, Any] | None = None

    def effect(self) -> Effect:
        return Refuse() if self.error is None else Refuse(YtError.from_map(self.error))


class _Delay(_Fault):
    kind: Literal["delay"]
    seconds: float = Field(ge=0)

    def effect(self) -> Effect:
        return Delay(self.seconds)


class _Hang(_Fault):
    kind: Literal["hang"]

    def effect(self) -> Effect:
        return Hang()


class _Drop(_Fault):
    kind: Literal["drop"]
    executed: bool = False

    def effect(self) -> Effect:
        return Drop(self.executed)


class _Cut(_Fault):
    kind: Literal["cut"]

    def effect(self) -> Effect:
        return Cut()


class _HttpStatus(_Fault):
    kind: Literal["http_status"]
    status: int = Field(ge=400, le=599)

    def effect(self) -> Effect:
        return HttpStatus(self.status)


_AnyFault: TypeAlias = Annotated[_Refuse | _Delay | _Hang | _Drop | _Cut | _HttpStatus, Field(discriminator="kind")]


class _Advance(_Model):
    advance: float
    """Seconds; negative: back."""


class _Set(_Model):
    set: AwareDatetime


class _Off(_Model):
    seconds: float = Field(gt=0)
    """There is nobody to turn the cluster on again by a request."""


class _Tablet(_Model):
    action: Literal["mount", "unmount", "freeze", "unfreeze"]
    path: str
    tablet_index: int | None = Field(default=None, ge=0)
    """None: all tablets."""


_FAULT: Final[TypeAdapter[_AnyFault]] = TypeAdapter(_AnyFault)
_CLOCK: Final[TypeAdapter[_Advance | _Set]] = TypeAdapter(_Advance | _Set)
_OFF: Final = TypeAdapter(_Off)
_TABLET: Final = TypeAdapter(_Tablet)

T = TypeVar("T")


class ControlApi:
    """The endpoints of one cluster; bodies are JSON."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def answer(self, method: str, path: str, query: Mapping[str, str], body: bytes) -> Any:
        """Do what a request to `/test/...` asks for, and give the answer, which is to be written as JSON.

        Args:
            method: of HTTP.
            path: whole.
            query: decoded.
            body: JSON, or nothing.

        Raises:
            YtError: there is no such endpoint, or the request does not make sense.
        """
        what, _, number = path.removeprefix(PREFIX).partition("/")
        match method, what, number:
            case "GET", "clock", "":
                return self._time()
            case "POST", "clock", "":
                return self._move_clock(_parse(_CLOCK, body))
            case "GET", "faults", "":
                return [_describe(fault) for fault in self._cluster.faults.all]
            case "GET", "faults", _:
                return _describe(self._fault(number))
            case "POST", "faults", "":
                return self._add_fault(_parse(_FAULT, body))
            case "DELETE", "faults", "":
                self._cluster.faults.clear()
                return {}
            case "DELETE", "faults", _:
                self._cluster.faults.remove(self._fault(number).number)
                return {}
            case "GET", "requests", "":
                return [_describe_request(request) for request in self._cluster.requests.find(_scope(query))]
            case "DELETE", "requests", "":
                self._cluster.requests.clear()
                return {}
            case "POST", "tablets", "":
                return self._switch_tablet(_parse(_TABLET, body))
            case "POST", "off", "":
                self._cluster.faults.turn_off(_parse(_OFF, body).seconds)
                return {}
        raise YtError(f"There is no {method} {path}")

    def _time(self) -> Any:
        return {"now": format_instant(self._cluster.state.clock.now())}

    def _move_clock(self, move: _Advance | _Set) -> Any:
        if isinstance(move, _Advance):
            self._cluster.state.clock.advance(move.advance)
        else:
            self._cluster.state.clock.set(move.set)
        return self._time()

    def _add_fault(self, wanted: _AnyFault) -> Any:
        scope = Scope(wanted.commands, wanted.path)
        return _describe(self._cluster.faults.add(wanted.effect(), scope, wanted.count))

    def _fault(self, number: str) -> Fault:
        fault = self._cluster.faults.find(int(number)) if number.isdecimal() else None
        if fault is None:
            raise YtError(f"There is no fault {number}")
        return fault

    def _switch_tablet(self, wanted: _Tablet) -> Any:
        tablets = self._cluster.tablets
        switch: Mapping[str, Callable[[Access, str, TabletRange], None]] = {
            "mount": tablets.mount,
            "unmount": tablets.unmount,
            "freeze": tablets.freeze,
            "unfreeze": tablets.unfreeze,
        }
        switch[wanted.action](UNLIMITED, wanted.path, TabletRange(wanted.tablet_index, wanted.tablet_index))
        return {}


def _parse(adapter: TypeAdapter[T], body: bytes) -> T:
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise YtError(f"Error in {'/'.join(map(str, first['loc'])) or 'the body'}: {first['msg']}") from error


def _scope(query: Mapping[str, str]) -> Scope:
    command = query.get("command")
    return Scope(frozenset({command} if command else ()), query.get("path", ""))


def _describe(fault: Fault) -> Any:
    return {
        "id": fault.number,
        "kind": fault.effect.kind,
        "commands": sorted(fault.scope.commands),
        "path": fault.scope.path,
        "remaining": fault.remaining,
        "hits": fault.hits,
    }


def _describe_request(request: LoggedRequest) -> Any:
    return {
        "user": request.user,
        "command": request.command,
        "parameters": request.parameters,
        "status": request.status,
        "error_code": request.error_code,
        "fault": request.fault,
        "started": request.started,
        "finished": request.finished,
    }
