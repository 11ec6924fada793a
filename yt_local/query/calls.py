"""Calls of functions: which types their arguments get, and what they become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from yt_local.query.aggregates import AGGREGATES, Aggregate
from yt_local.query.evaluate import compile_expression
from yt_local.query.expressions import Call, Compare, Expression, If, Literal, parts_of
from yt_local.query.functions import GENERIC, Function, Signature
from yt_local.query.inference import BOOLEAN, TypeSet, Untyped, front, in_words, typed
from yt_local.query.registry import FUNCTIONS, UNSUPPORTED
from yt_local.schema.column_types import PhysicalType
from yt_wire.error import YtError

_IF = Signature((BOOLEAN, GENERIC, GENERIC), GENERIC)
_IS_NULL = Signature((GENERIC,), "boolean")


@dataclass(frozen=True, slots=True)
class _Matched:
    """A signature with its arguments."""

    types: TypeSet
    """Of the result."""
    build: Callable[[PhysicalType], tuple[Expression, ...]]
    """The arguments, for a type of the result."""


def call(name: str, arguments: Sequence[Untyped]) -> Untyped:
    """A scalar function by its lower-case name; YtError if it does not take these arguments."""
    if name == "if":
        matched = _match(name, _IF, arguments)

        def build(target: PhysicalType) -> Expression:
            condition, then, otherwise = matched.build(target)
            return fold(If(condition, then, otherwise, target))

        return Untyped(matched.types, build)
    if name == "is_null":
        (operand,) = _match(name, _IS_NULL, arguments).build("boolean")
        return typed(is_null(operand))
    return _scalar(name, FUNCTIONS[name], arguments)


def check_known(name: str) -> None:
    """YtError if there is no function of this lower-case name."""
    if name in FUNCTIONS or name in AGGREGATES or name in ("if", "is_null"):
        return
    if name in UNSUPPORTED or name.startswith("hll_"):
        raise YtError(f'Function "{name}" is not supported by the local cluster')
    raise YtError(f'Undefined function "{name}"')


def is_aggregate(name: str) -> bool:
    """Whether this is the lower-case name of an aggregate function."""
    return name in AGGREGATES


def aggregate(name: str, arguments: Sequence[Untyped], register: Callable[[Aggregate], Expression]) -> Untyped:
    """An aggregate function by its lower-case name.

    Args:
        name: one of those that `is_aggregate` knows.
        arguments: which may not be aggregates themselves.
        register: takes note of what is to be computed, and gives the place of the result.
    """
    function = AGGREGATES[name]
    signature = Signature(function.parameters, function.result, generic=function.generic)
    if len(signature.parameters) == 1 and len(arguments) != 1:
        raise YtError(f'Aggregate function "{name}" must have exactly one argument')
    matched = _match(name, signature, arguments)

    def build(target: PhysicalType) -> Expression:
        built = matched.build(target)
        accumulator = function.make(tuple(argument.type for argument in built))
        return register(Aggregate(name, built, target, accumulator))

    return Untyped(matched.types, build)


def is_null(operand: Expression) -> Expression:
    """The test whether it is null."""
    return fold(Compare("=", (operand,), (Literal(None, "null"),)))


def fold(expression: Expression) -> Expression:
    """Its value if all its parts are constants; as it is if that cannot be computed: it may never have to be."""
    if not all(isinstance(part, Literal) for part in parts_of(expression)):
        return expression
    try:
        return Literal(compile_expression(expression)(()), expression.type)
    except YtError:
        return expression


def _scalar(name: str, function: Function, arguments: Sequence[Untyped]) -> Untyped:
    matched = _match(name, function.signature, arguments)

    def build(target: PhysicalType) -> Expression:
        built = matched.build(target)
        compute = function.make([argument.type for argument in built])
        return fold(Call(name, built, target, compute, function.takes_null))

    return Untyped(matched.types, build)


def _match(name: str, signature: Signature, arguments: Sequence[Untyped]) -> _Matched:
    required = len(signature.parameters)
    if len(arguments) < required or (len(arguments) > required and signature.repeated is None):
        raise YtError(f'Wrong number of arguments to function "{name}": expected {required}, got {len(arguments)}')
    generic = signature.generic
    fixed: list[TypeSet | None] = []
    for position, argument in enumerate(arguments):
        parameter = signature.parameters[position] if position < required else signature.repeated
        assert parameter is not None
        expected = generic if parameter == GENERIC else parameter
        common = expected & argument.types
        if not common:
            raise YtError(
                f'Wrong type for argument {position + 1} to function "{name}": expected "{in_words(expected)}",'
                f' got "{in_words(argument.types)}"'
            )
        if parameter == GENERIC:
            generic = common
        fixed.append(None if parameter == GENERIC else common)
    is_generic = signature.result == GENERIC
    final = generic

    def build(target: PhysicalType) -> tuple[Expression, ...]:
        chosen = target if is_generic else front(final)
        return tuple(
            argument.build(chosen if types is None else front(types))
            for argument, types in zip(arguments, fixed, strict=True)
        )

    if signature.result == GENERIC:
        return _Matched(generic, build)
    return _Matched(frozenset({signature.result}), build)
