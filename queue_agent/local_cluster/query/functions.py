"""What operators and functions compute, and the types they take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from queue_agent.local_cluster.column_types import PhysicalType
from queue_agent.local_cluster.keys import Value
from queue_agent.local_cluster.query.expressions import INTEGRAL, NUMERIC
from queue_agent.wire import farm_hash
from queue_agent.wire.error import YtError

_MODULUS = 1 << 64
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True)
class Function:
    """A function of values."""

    parameters: tuple[frozenset[PhysicalType], ...]
    """Types each argument may have."""
    result: PhysicalType
    function: Callable[..., Value]
    is_variadic: bool = False
    """The last parameter may be repeated, or be missing if it is the only one."""
    takes_null: bool = False
    """Called for null arguments too; otherwise it is null if any of them is."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator whose operands and result have one type."""

    types: frozenset[PhysicalType]
    make: Callable[[PhysicalType], Callable[..., Value]]
    """The function for one of the types."""


def wrap(value: int, integer_type: PhysicalType) -> int:
    """The number modulo 2^64, in the range of the type."""
    value %= _MODULUS
    return value - _MODULUS if integer_type == "int64" and value >= _SIGN else value


def _integral(compute: Callable[..., int]) -> Callable[[PhysicalType], Callable[..., Value]]:
    return lambda result_type: lambda *operands: wrap(compute(*operands), result_type)


def _numeric(
    integral: Callable[..., int], floating: Callable[..., float]
) -> Callable[[PhysicalType], Callable[..., Value]]:
    return lambda result_type: floating if result_type == "double" else _integral(integral)(result_type)


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise YtError("Division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _divide(left, right)


def _divide_floating(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


BINARY: Mapping[str, Operator] = {
    "+": Operator(NUMERIC, _numeric(lambda a, b: a + b, lambda a, b: a + b)),
    "-": Operator(NUMERIC, _numeric(lambda a, b: a - b, lambda a, b: a - b)),
    "*": Operator(NUMERIC, _numeric(lambda a, b: a * b, lambda a, b: a * b)),
    "/": Operator(NUMERIC, _numeric(_divide, _divide_floating)),
    "%": Operator(INTEGRAL, _integral(_remainder)),
    "&": Operator(INTEGRAL, _integral(lambda a, b: a & b)),
    "|": Operator(INTEGRAL, _integral(lambda a, b: a | b)),
    "<<": Operator(INTEGRAL, _integral(lambda a, b: a << (b & 63))),
    ">>": Operator(INTEGRAL, _integral(lambda a, b: a >> (b & 63))),
}

UNARY: Mapping[str, Operator] = {
    "+": Operator(NUMERIC, _numeric(lambda a: a, lambda a: a)),
    "-": Operator(NUMERIC, _numeric(lambda a: -a, lambda a: -a)),
    "~": Operator(INTEGRAL, _integral(lambda a: ~a)),
}


def _to_integer(target: PhysicalType) -> Callable[[float], int]:
    def convert(value: float) -> int:
        if not math.isfinite(value):
            raise YtError(f'Cannot convert {value} to "{target}"')
        return wrap(int(value), target)

    return convert


def _fingerprint(value: Value) -> int:
    if isinstance(value, bytes):
        return farm_hash.fingerprint(value)
    assert value is None or isinstance(value, int)
    return farm_hash.fingerprint_of_number(value or 0)


def _farm_hash(*values: Value) -> int:
    return farm_hash.combine(_fingerprint(value) for value in values)


_STRING: frozenset[PhysicalType] = frozenset({"string"})
_HASHABLE: frozenset[PhysicalType] = frozenset({"int64", "uint64", "boolean", "string"})

FUNCTIONS: Mapping[str, Function] = {
    "is_prefix": Function((_STRING, _STRING), "boolean", lambda prefix, text: text.startswith(prefix)),
    "is_substr": Function((_STRING, _STRING), "boolean", lambda part, text: part in text),
    "lower": Function((_STRING,), "string", bytes.lower),
    "upper": Function((_STRING,), "string", bytes.upper),
    "concat": Function((_STRING, _STRING), "string", lambda *parts: b"".join(parts), is_variadic=True),
    "length": Function((_STRING,), "int64", len),
    "int64": Function((NUMERIC,), "int64", _to_integer("int64")),
    "uint64": Function((NUMERIC,), "uint64", _to_integer("uint64")),
    "double": Function((NUMERIC,), "double", float),
    "farm_hash": Function((_HASHABLE,), "uint64", _farm_hash, is_variadic=True, takes_null=True),
}
"""By lower-case name."""
