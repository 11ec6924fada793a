"""Arithmetic on 64 bits, and conversions between the numeric types."""

from __future__ import annotations

import math

from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Value
from yt_wire.error import YtError

_MODULUS = 1 << 64
_SIGN = 1 << 63
_MAX_INT64 = _SIGN - 1


def wrap(value: int, integer_type: PhysicalType) -> int:
    """The number modulo 2^64, in the range of the type."""
    value %= _MODULUS
    return value - _MODULUS if integer_type == "int64" and value >= _SIGN else value


def divide(left: int, right: int) -> int:
    """The quotient, rounded towards zero."""
    if right == 0:
        raise YtError("Division by zero")
    if left == -_SIGN and right == -1:
        raise YtError("Division of INT_MIN by -1")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder(left: int, right: int) -> int:
    """What `divide` leaves; it has the sign of the dividend."""
    return left - right * divide(left, right)


def divide_floating(left: float, right: float) -> float:
    """As the processor does it: infinities and NaN instead of errors."""
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def convert(value: Value, source: PhysicalType, target: PhysicalType) -> Value:
    """A constant as a value of another numeric type.

    Raises:
        YtError: the value would not be the same; only negative numbers may become large unsigned ones.
    """
    if value is None or source == target:
        return value
    assert isinstance(value, (int, float))
    match source, target:
        case "int64", "uint64":
            return int(value) % _MODULUS
        case "uint64", "int64":
            if value > _MAX_INT64:
                raise YtError(f"Failed to cast {value}u to int64: value is greater than maximum")
            return value
        case _, "double":
            if int(float(value)) != value:
                raise YtError(f"Failed to cast {value} to double: inaccurate conversion")
            return float(value)
        case _:
            return _from_floating(value, target)


def _from_floating(value: float, target: PhysicalType) -> int:
    low, high = (-_SIGN, _MAX_INT64) if target == "int64" else (0, _MODULUS - 1)
    if not math.isfinite(value) or value != int(value) or not low <= value <= high:
        raise YtError(f"Failed to cast {value} to {target}: inaccurate conversion")
    return int(value)


def truncate(value: float, target: PhysicalType) -> int:
    """What a cast in a query makes of a number: the fraction is dropped, and the rest taken modulo 2^64."""
    if not math.isfinite(value):
        raise YtError(f'Cannot convert {value} to "{target}"')
    return wrap(int(value), target)
