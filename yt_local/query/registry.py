"""All functions and operators, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from yt_local.query.functions import GENERAL, Function, concatenated
from yt_local.query.inference import INTEGRAL, NUMERIC, STRING, TypeSet
from yt_local.query.math_functions import MATHEMATICS
from yt_local.query.numbers import divide, divide_floating, remainder, wrap
from yt_local.query.string_functions import STRINGS
from yt_local.query.time_functions import TIMES
from yt_local.query.yson_values import YSON
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Value

FUNCTIONS: Final[Mapping[str, Function]] = {**GENERAL, **STRINGS, **TIMES, **MATHEMATICS, **YSON}
"""Scalar functions by lower-case name, but for `if` and `is_null`."""

UNSUPPORTED: Final = frozenset(
    {"bigb_hash", "sleep", "split", "make_ngrams", "format_timestamp_localtime"}
    | {"cot", "even", "gamma", "lgamma", "signbit", "factorial"}
    | {"xdelta", "dict_sum", "cardinality_state", "cardinality_merge", "cardinality_merge_state"}
    | {"uniq", "uniq_state", "uniq_merge", "uniq_merge_state"}
    | {"_yt_has_permissions", "_yt_stored_replica_set", "_yt_last_seen_replica_set"}
    | {f"timestamp_floor_{unit}_localtime" for unit in ("hour", "day", "week", "month", "quarter", "year")}
)
"""Functions that real clusters have and this one has not."""

_Make = Callable[[PhysicalType], Callable[..., Value]]


def _integral(compute: Callable[..., int]) -> _Make:
    return lambda result_type: lambda *operands: wrap(compute(*operands), result_type)


def _bounded(compute: Callable[..., int]) -> _Make:
    """Of what cannot leave the range of its type."""
    return lambda _: compute


def _numeric(integral: Callable[..., int], floating: Callable[..., float]) -> _Make:
    return lambda result_type: floating if result_type == "double" else _integral(integral)(result_type)


BINARY: Final[Mapping[str, tuple[TypeSet, _Make]]] = {
    "+": (NUMERIC, _numeric(lambda a, b: a + b, lambda a, b: a + b)),
    "-": (NUMERIC, _numeric(lambda a, b: a - b, lambda a, b: a - b)),
    "*": (NUMERIC, _numeric(lambda a, b: a * b, lambda a, b: a * b)),
    "/": (NUMERIC, _numeric(divide, divide_floating)),
    "%": (INTEGRAL, _bounded(remainder)),
    "&": (INTEGRAL, _bounded(lambda a, b: a & b)),
    "|": (INTEGRAL, _bounded(lambda a, b: a | b)),
    "<<": (INTEGRAL, _integral(lambda a, b: a << (b & 63))),
    ">>": (INTEGRAL, _bounded(lambda a, b: a >> (b & 63))),
    "||": (STRING, lambda _: concatenated),
}
"""Types of the operands, which are that of the result, and the function for one of them."""

UNARY: Final[Mapping[str, tuple[TypeSet, _Make]]] = {
    "+": (NUMERIC, _bounded(lambda a: a)),
    "-": (NUMERIC, _numeric(lambda a: -a, lambda a: -a)),
    "~": (INTEGRAL, _integral(lambda a: ~a)),
}
"""As `BINARY`."""
