"""Functions of times: seconds since the epoch, rounded down and written out, in UTC or in a named time zone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from yt_local.query.functions import Function, one_of, plain
from yt_local.query.inference import STRING
from yt_wire.error import YtError

_SECONDS = one_of("int64")


def _floor_hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0)


def _floor_day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0)


def _floor_week(moment: datetime) -> datetime:
    return _floor_day(moment) - timedelta(days=moment.weekday())


def _floor_month(moment: datetime) -> datetime:
    return _floor_day(moment).replace(day=1)


def _floor_quarter(moment: datetime) -> datetime:
    return _floor_month(moment).replace(month=moment.month - (moment.month - 1) % 3)


def _floor_year(moment: datetime) -> datetime:
    return _floor_month(moment).replace(month=1)


_FLOORS: Mapping[str, Callable[[datetime], datetime]] = {
    "hour": _floor_hour,
    "day": _floor_day,
    "week": _floor_week,
    "month": _floor_month,
    "quarter": _floor_quarter,
    "year": _floor_year,
}


def _moment(seconds: int, zone: tzinfo) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, zone)
    except (OverflowError, ValueError, OSError) as error:
        raise YtError(f"Timestamp {seconds} is out of range") from error


def _zone(name: bytes) -> tzinfo:
    text = name.decode("utf-8", "replace")
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError) as error:
        raise YtError(f'Unknown time zone "{text}"') from error


def _floored(seconds: int, floor: Callable[[datetime], datetime], zone: tzinfo) -> int:
    return int(floor(_moment(seconds, zone)).timestamp())


def _floor(floor: Callable[[datetime], datetime]) -> Callable[[int], int]:
    return lambda seconds: _floored(seconds, floor, UTC)


def _floor_in_zone(floor: Callable[[datetime], datetime]) -> Callable[[int, bytes], int]:
    return lambda seconds, zone: _floored(seconds, floor, _zone(zone))


def _formatted(seconds: int, pattern: bytes, zone: tzinfo) -> bytes:
    try:
        return _moment(seconds, zone).strftime(pattern.decode()).encode()
    except ValueError as error:
        words = pattern.decode("utf-8", "replace")
        raise YtError(f'Cannot format a timestamp by "{words}"') from error


def _format(seconds: int, pattern: bytes) -> bytes:
    return _formatted(seconds, pattern, UTC)


def _format_in_zone(seconds: int, pattern: bytes, zone: bytes) -> bytes:
    return _formatted(seconds, pattern, _zone(zone))


TIMES: Mapping[str, Function] = {
    **{f"timestamp_floor_{unit}": plain((_SECONDS,), "int64", _floor(floor)) for unit, floor in _FLOORS.items()},
    **{
        f"timestamp_floor_{unit}_tz": plain((_SECONDS, STRING), "int64", _floor_in_zone(floor))
        for unit, floor in _FLOORS.items()
    },
    "format_timestamp": plain((_SECONDS, STRING), "string", _format),
    "format_timestamp_tz": plain((_SECONDS, STRING, STRING), "string", _format_in_zone),
}
"""By lower-case name."""
