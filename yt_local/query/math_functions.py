"""Functions of numbers; where mathematics has no answer the result is NaN or an infinity, as in C."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from yt_local.query.functions import GENERIC, Function, Signature, one_of, plain
from yt_local.query.inference import NUMERIC
from yt_local.query.numbers import truncate, wrap
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Value

_DOUBLE = one_of("double")
_UINT64 = one_of("uint64")


def _floating(function: Callable[..., float]) -> Callable[..., float]:
    def compute(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return compute


def _rounding(function: Callable[[float], float]) -> Callable[[float], int]:
    return lambda value: truncate(function(value) if math.isfinite(value) else value, "int64")


def _logarithm(function: Callable[[float], float]) -> Callable[[float], float]:
    return _floating(lambda value: -math.inf if value == 0 else function(value))


def _away_from_zero(value: float) -> float:
    return math.copysign(math.floor(abs(value) + 0.5), value)


def _abs(types: Sequence[PhysicalType]) -> Callable[..., Value]:
    return abs if types[0] != "int64" else lambda value: wrap(abs(value), "int64")


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


_OF_DOUBLES: Mapping[str, Callable[..., float]] = {
    "acos": math.acos,
    "asin": math.asin,
    "cbrt": math.cbrt,
    "cos": math.cos,
    "degrees": math.degrees,
    "exp": math.exp,
    "radians": math.radians,
    "sin": math.sin,
    "sqrt": math.sqrt,
    "tan": math.tan,
}

_LOGARITHMS: Mapping[str, Callable[[float], float]] = {
    "ln": math.log,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
}

MATHEMATICS: Mapping[str, Function] = {
    **{name: plain((_DOUBLE,), "double", _floating(function)) for name, function in _OF_DOUBLES.items()},
    **{name: plain((_DOUBLE,), "double", _logarithm(function)) for name, function in _LOGARITHMS.items()},
    "atan2": plain((_DOUBLE, _DOUBLE), "double", _floating(math.atan2)),
    "pow": plain((_DOUBLE, _DOUBLE), "double", _floating(math.pow)),
    "abs": Function(Signature((GENERIC,), GENERIC, generic=NUMERIC), _abs),
    "ceil": plain((_DOUBLE,), "int64", _rounding(math.ceil)),
    "floor": plain((_DOUBLE,), "int64", _rounding(math.floor)),
    "round": plain((_DOUBLE,), "int64", _rounding(_away_from_zero)),
    "trunc": plain((_DOUBLE,), "int64", _rounding(math.trunc)),
    "sign": plain((_DOUBLE,), "int64", _sign),
    "is_finite": plain((_DOUBLE,), "boolean", math.isfinite),
    "is_inf": plain((_DOUBLE,), "boolean", math.isinf),
    "is_nan": plain((_DOUBLE,), "boolean", math.isnan),
    "bit_count": plain((_UINT64,), "int64", int.bit_count),
    "gcd": plain((_UINT64, _UINT64), "uint64", math.gcd),
    "lcm": plain((_UINT64, _UINT64), "uint64", lambda a, b: wrap(math.lcm(a, b), "uint64")),
    "xor": plain((_UINT64, _UINT64), "uint64", lambda a, b: a ^ b),
}
"""By lower-case name."""
