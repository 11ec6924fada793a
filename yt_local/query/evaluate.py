"""Expressions to functions of a row."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, assert_never

from yt_local.base.turns import give_way
from yt_local.query.expressions import (
    Between,
    Call,
    Cases,
    Compare,
    Comparison,
    Expression,
    If,
    In,
    Literal,
    Logic,
    Lookup,
    Not,
    Reference,
)
from yt_local.schema.keys import Row, Value

Evaluator: TypeAlias = Callable[[Row], Any]
"""Gives a `Value`; its type is that of the expression, or None."""

_COMPARE: dict[Comparison, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compile_expression(expression: Expression) -> Evaluator:
    """Build the evaluator; it raises YtError where the computation fails, as a division by zero does."""
    match expression:
        case Literal(value):
            return lambda _row: value
        case Reference(index):
            return operator.itemgetter(index)
        case Call():
            return _compile_call(expression)
        case If(condition, then, otherwise):
            return _compile_if(condition, then, otherwise)
        case Cases():
            return _compile_cases(expression)
        case Compare():
            return _compile_compare(expression)
        case In(needle, haystack):
            return _compile_in(needle, haystack)
        case Between():
            return _compile_between(expression)
        case Lookup():
            return _compile_lookup(expression)
        case Logic(junction, operands):
            return _compile_logic(junction == "OR", operands)
        case Not(operand):
            inner = compile_expression(operand)
            return lambda row: None if (value := inner(row)) is None else not value
        case _:
            assert_never(expression)


def compile_row(expressions: Sequence[Expression]) -> Callable[[Row], Row]:
    """Build the function that evaluates all of them, in order."""
    if expressions and all(isinstance(expression, Reference) for expression in expressions):
        indexes = [expression.index for expression in expressions if isinstance(expression, Reference)]
        if len(indexes) > 1:
            return operator.itemgetter(*indexes)
        index = indexes[0]
        return lambda row: (row[index],)
    evaluators = [compile_expression(expression) for expression in expressions]
    return lambda row: tuple([evaluate(row) for evaluate in evaluators])


def sort_key(value: Any) -> tuple[bool, Any]:
    """Orders values of one type with null before all others."""
    return (value is not None, value)


def sort_keys(values: Sequence[Value]) -> list[tuple[bool, Any]]:
    """Orders tuples; one that another begins with comes first."""
    return [(value is not None, value) for value in values]


def _compile_call(call: Call) -> Evaluator:
    function = call.function
    if len(call.arguments) == 2 and not call.takes_null:
        # Before any argument is compiled: what compiles it twice takes 2^n times for n operators in a row.
        return _compile_binary_call(call)
    evaluators = [compile_expression(argument) for argument in call.arguments]
    if call.takes_null:
        return lambda row: function(*[evaluate(row) for evaluate in evaluators])
    if len(evaluators) == 1:
        argument = evaluators[0]
        return lambda row: None if (value := argument(row)) is None else function(value)

    def evaluate_call(row: Row) -> Value:
        arguments = [evaluate(row) for evaluate in evaluators]
        return None if None in arguments else function(*arguments)

    return evaluate_call


def _compile_binary_call(call: Call) -> Evaluator:
    function = call.function
    left, right = compile_expression(call.arguments[0]), compile_expression(call.arguments[1])
    match call.arguments[1]:
        case Literal(constant) if constant is not None:
            return lambda row: None if (value := left(row)) is None else function(value, constant)

    def evaluate_call(row: Row) -> Value:
        first, second = left(row), right(row)
        return None if first is None or second is None else function(first, second)

    return evaluate_call


def _compile_if(condition: Expression, then: Expression, otherwise: Expression) -> Evaluator:
    test, if_true, if_false = compile_expression(condition), compile_expression(then), compile_expression(otherwise)

    def evaluate_if(row: Row) -> Value:
        value = test(row)
        if value is None:
            return None
        branch: Value = if_true(row) if value else if_false(row)
        return branch

    return evaluate_if


def _compile_cases(cases: Cases) -> Evaluator:
    branches = [(compile_expression(test), compile_expression(result)) for test, result in cases.branches]
    default = compile_expression(cases.default)

    def evaluate_cases(row: Row) -> Value:
        chosen = default
        for test, result in branches:
            give_way()
            if test(row):
                chosen = result
                break
        value: Value = chosen(row)
        return value

    return evaluate_cases


def _compile_compare(comparison: Compare) -> Evaluator:
    compare = _COMPARE[comparison.operator]
    if len(comparison.left) > 1:
        left_row, right_row = _compile_tuple_key(comparison.left), _compile_tuple_key(comparison.right)
        return lambda row: compare(left_row(row), right_row(row))
    left, right = compile_expression(comparison.left[0]), compile_expression(comparison.right[0])
    is_equality = comparison.operator in ("=", "!=")
    match comparison.left[0], comparison.right[0]:
        case Reference(index), Literal(constant) if is_equality:
            return lambda row: compare(row[index], constant)
        case _, Literal(constant) if constant is not None:
            if_null = comparison.operator in ("!=", "<", "<=")
            return lambda row: if_null if (value := left(row)) is None else compare(value, constant)
    if is_equality:
        return lambda row: compare(left(row), right(row))

    def evaluate_compare(row: Row) -> bool:
        first, second = left(row), right(row)
        if first is None or second is None:
            return compare(first is not None, second is not None)
        return compare(first, second)

    return evaluate_compare


def _compile_tuple_key(expressions: Sequence[Expression]) -> Evaluator:
    evaluators = [compile_expression(expression) for expression in expressions]
    return lambda row: [sort_key(evaluate(row)) for evaluate in evaluators]


def _compile_in(needle: Sequence[Expression], haystack: frozenset[tuple[Value, ...]]) -> Evaluator:
    if len(needle) > 1:
        evaluate_row = compile_row(needle)
        return lambda row: evaluate_row(row) in haystack
    evaluate = compile_expression(needle[0])
    values = frozenset(value for (value,) in haystack)
    return lambda row: evaluate(row) in values


def _compile_between(between: Between) -> Evaluator:
    evaluate_row = compile_row(between.needle)
    lowers = [sort_keys(lower) for lower, _ in between.ranges]
    uppers = [sort_keys(upper) for _, upper in between.ranges]

    def evaluate_between(row: Row) -> bool:
        key = sort_keys(evaluate_row(row))
        # Of disjoint ranges in order only the last that begins before the key can hold it.
        place = bisect_right(lowers, key) - 1
        return place >= 0 and key[: len(uppers[place])] <= uppers[place]

    return evaluate_between


def _compile_lookup(lookup: Lookup) -> Evaluator:
    evaluate_row = compile_row(lookup.needle)
    default = compile_expression(lookup.default)
    targets = lookup.targets

    def evaluate_lookup(row: Row) -> Value:
        key = evaluate_row(row)
        value: Value = targets[key] if key in targets else default(row)
        return value

    return evaluate_lookup


def _compile_logic(deciding: bool, operands: Sequence[Expression]) -> Evaluator:
    evaluators = [compile_expression(operand) for operand in operands]
    if len(evaluators) == 2:
        return _compile_logic_of_two(deciding, *evaluators)

    def evaluate_logic(row: Row) -> bool | None:
        result: bool | None = not deciding
        for evaluate in evaluators:
            value: bool | None = evaluate(row)
            if value is deciding:
                return deciding
            if value is None:
                result = None
        return result

    return evaluate_logic


def _compile_logic_of_two(deciding: bool, left: Evaluator, right: Evaluator) -> Evaluator:
    def evaluate_logic(row: Row) -> bool | None:
        first: bool | None = left(row)
        if first is deciding:
            return deciding
        second: bool | None = right(row)
        return first if second is not deciding and first is None else second

    return evaluate_logic
