"""Syntax trees to expressions: names become columns, types are checked, constants folded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from sqlglot import exp

from queue_agent.local_cluster.column_types import PhysicalType
from queue_agent.local_cluster.keys import Value
from queue_agent.local_cluster.query.evaluate import compile_expression
from queue_agent.local_cluster.query.expressions import (
    MIRRORED,
    NUMERIC,
    Call,
    Compare,
    Comparison,
    Expression,
    If,
    In,
    Literal,
    Logic,
    Not,
    Reference,
    common_type,
    parts_of,
    unify,
)
from queue_agent.local_cluster.query.functions import BINARY, FUNCTIONS, UNARY, Operator, wrap
from queue_agent.local_cluster.query.grammar import syntax_error
from queue_agent.local_cluster.query.wording import (
    BINARY_WORDS,
    UNARY_WORDS,
    name_of,
    reference_name,
    words_of,
)
from queue_agent.local_cluster.schema import Column
from queue_agent.wire.error import YtError

_AGGREGATES = frozenset({"sum", "min", "max", "avg", "count", "first", "argmin", "argmax", "cardinality"})

_MAX_DIGITS = len(str(2**64))


class Resolver:
    """Resolves the expressions of one query.

    Args:
        columns: of the table.
        table_alias: what it is called in the query; columns must then be named with it.
        aliases: expressions of the projections by the names given to them, which all clauses may use.
    """

    def __init__(self, columns: Sequence[Column], table_alias: str | None, aliases: Mapping[str, exp.Expr]) -> None:
        self._columns = {column.name: Reference(index, column.physical_type) for index, column in enumerate(columns)}
        self._table_alias = table_alias
        self._aliases = aliases
        self._aliases_in_use: list[str] = []

    def resolve(self, node: exp.Expr) -> Expression:
        """The expression of a node.

        Raises:
            YtError: an undefined name, types that do not go together, a construct that is not supported.
        """
        match node:
            case exp.Paren():
                return self.resolve(node.this)
            case exp.Literal():
                return _literal(node)
            case exp.Boolean():
                return Literal(bool(node.this), "boolean")
            case exp.Null():
                return Literal(None, "null")
            case exp.Column():
                return self._reference(node)
            case exp.And() | exp.Or():
                return self._logic(node)
            case exp.Not():
                operand = self.resolve(node.this)
                _expect({"boolean"}, operand, node, node.this)
                return _fold(Not(operand))
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._in(node)
            case exp.Is() if isinstance(node.expression, exp.Null):
                return _fold(_is_null(self.resolve(node.this)))
            case exp.Anonymous():
                return self._function(node)
        if isinstance(node, (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)):
            operator = cast(Comparison, BINARY_WORDS[type(node)])
            return self._compare(operator, node, node.this, node.expression)
        if type(node) in BINARY_WORDS:
            return self._binary(node)
        if type(node) in UNARY_WORDS:
            return self._unary(node)
        raise syntax_error(f"Unsupported expression {words_of(node)}")

    def _reference(self, node: exp.Column) -> Expression:
        if node.args.get("db") is not None or isinstance(node.this, exp.Star):
            raise syntax_error(f"Unsupported expression {node.sql()}")
        table = node.args.get("table")
        name = name_of(node.this)
        reference = self._columns.get(name)
        if reference is not None and (None if table is None else name_of(table)) == self._table_alias:
            return reference
        if table is None and name in self._aliases:
            if name in self._aliases_in_use:
                raise YtError(f'Infinite recursion in definition of alias "{name}"')
            self._aliases_in_use.append(name)
            expression = self.resolve(self._aliases[name])
            self._aliases_in_use.pop()
            return expression
        raise YtError(f'Undefined reference "{reference_name(node)}"')

    def _logic(self, node: exp.And | exp.Or) -> Expression:
        # A long chain leans to the left: taking it apart in a loop keeps thousands of links off the stack.
        kind = type(node)
        nodes: list[exp.Expr] = []
        current: exp.Expr = node
        while isinstance(current, kind):
            nodes.append(current.expression)
            current = current.this
        nodes.append(current)
        operands = []
        for operand_node in reversed(nodes):
            operand = self.resolve(operand_node)
            _expect({"boolean"}, operand, node, operand_node)
            operands.append(operand)
        return _fold(Logic("and" if kind is exp.And else "or", tuple(operands)))

    def _compare(self, operator: Comparison, node: exp.Expr, left_node: exp.Expr, right_node: exp.Expr) -> Expression:
        left = self._tuple(left_node)
        right = self._tuple(right_node)
        pairs = _unify_all(left, right, node)
        lefts = tuple(first for first, _ in pairs)
        rights = tuple(second for _, second in pairs)
        if all(isinstance(first, Literal) for first in lefts):
            operator, lefts, rights = MIRRORED[operator], rights, lefts
        return _fold(Compare(operator, lefts, rights))

    def _between(self, node: exp.Between) -> Expression:
        low = self._compare(">=", node, node.this, node.args["low"])
        high = self._compare("<=", node, node.this, node.args["high"])
        return _fold(Logic("and", (low, high)))

    def _in(self, node: exp.In) -> Expression:
        if "query" in node.args or "field" in node.args:
            raise syntax_error("A list of constants is expected after IN")
        needle = self._tuple(node.this)
        haystack: set[tuple[Value, ...]] = set()
        for item_node in node.expressions:
            values = []
            item = self._tuple(item_node)
            for _, constant in _unify_all(needle, item, node):
                if not isinstance(constant, Literal):
                    raise YtError(f'Expression inside IN must be constant, got "{words_of(item_node)}"')
                values.append(constant.value)
            haystack.add(tuple(values))
        return _fold(In(needle, frozenset(haystack)))

    def _tuple(self, node: exp.Expr) -> tuple[Expression, ...]:
        while isinstance(node, exp.Paren):
            node = node.this
        items = node.expressions if isinstance(node, exp.Tuple) else [node]
        return tuple(self.resolve(item) for item in items)

    def _binary(self, node: exp.Expr) -> Expression:
        name = BINARY_WORDS[type(node)]
        operator = BINARY[name]
        pair = _unified(node, self.resolve(node.this), self.resolve(node.expression))
        result_type = common_type(*pair)
        return _operator_call(name, operator, pair, result_type, node)

    def _unary(self, node: exp.Expr) -> Expression:
        name = UNARY_WORDS[type(node)]
        operand = self.resolve(node.this)
        if name == "-" and isinstance(operand, Literal) and operand.is_flexible and isinstance(operand.value, int):
            # 9223372036854775808 is unsigned by itself, but not with a minus in front.
            return _integer(-operand.value, is_unsigned=False)
        return _operator_call(name, UNARY[name], (operand,), operand.type, node)

    def _function(self, node: exp.Anonymous) -> Expression:
        name = str(node.this).lower()
        arguments = tuple(self.resolve(argument) for argument in node.expressions if not isinstance(argument, exp.Star))
        if name in _AGGREGATES:
            raise YtError(f'Aggregate function "{name}" is not supported in queries yet')
        special = {"if": (3, self._if), "if_null": (2, self._if_null), "is_null": (1, self._is_null)}
        if name in special:
            count, build = special[name]
            _expect_count(name, len(arguments), count, is_variadic=False)
            return _fold(build(node, arguments))
        function = FUNCTIONS.get(name)
        if function is None:
            raise syntax_error(f'Undefined function "{name}"')
        _expect_count(name, len(arguments), len(function.parameters), function.is_variadic)
        for position, argument in enumerate(arguments):
            allowed = function.parameters[min(position, len(function.parameters) - 1)]
            _expect(allowed, argument, node, node.expressions[position])
        return _fold(Call(name, arguments, function.result, function.function, function.takes_null))

    def _if(self, node: exp.Expr, arguments: Sequence[Expression]) -> Expression:
        _expect({"boolean"}, arguments[0], node, node.expressions[0])
        pair = _unified(node, arguments[1], arguments[2])
        return If(arguments[0], *pair, common_type(*pair))

    def _if_null(self, node: exp.Expr, arguments: Sequence[Expression]) -> Expression:
        pair = _unified(node, *arguments)
        return Call("if_null", pair, common_type(*pair), _first_present, takes_null=True)

    def _is_null(self, _node: exp.Expr, arguments: Sequence[Expression]) -> Expression:
        return _is_null(arguments[0])


def expect_boolean(expression: Expression, clause: str) -> None:
    """Refuse a condition that is not one."""
    if expression.type not in ("boolean", "null"):
        raise YtError(f"{clause}-clause is not a boolean expression", attributes={"actual_type": expression.type})


def _literal(node: exp.Literal) -> Literal:
    text = str(node.this)
    if node.is_string:
        return Literal(text.encode("utf-8", "surrogateescape"), "string")
    if not text.rstrip("u").isdigit():
        return Literal(float(text), "double")
    digits = text.rstrip("u").lstrip("0")
    if len(digits) > _MAX_DIGITS:
        raise syntax_error(f"Number {text} is out of range")
    return _integer(int(digits or "0"), is_unsigned=text.endswith("u"))


def _integer(value: int, is_unsigned: bool) -> Literal:
    if not -(1 << 63) <= value < 1 << 64:
        raise syntax_error(f"Number {value} is out of range")
    return Literal(value, "uint64" if is_unsigned or value >= 1 << 63 else "int64", is_flexible=True)


def _first_present(value: Value, otherwise: Value) -> Value:
    return otherwise if value is None else value


def _is_null(operand: Expression) -> Compare:
    return Compare("=", (operand,), (Literal(None, "null"),))


def _operator_call(
    name: str, operator: Operator, operands: tuple[Expression, ...], result_type: PhysicalType, node: exp.Expr
) -> Expression:
    if result_type == "null":
        return Literal(None, "null")
    if result_type not in operator.types:
        raise _mismatch(node, *operands)
    return _fold(Call(name, operands, result_type, operator.make(result_type)))


def _fold(expression: Expression) -> Expression:
    if isinstance(expression, Literal | Reference):
        return expression
    parts = parts_of(expression)
    if not all(isinstance(part, Literal) for part in parts):
        return expression
    is_flexible = isinstance(expression, Call) and all(
        isinstance(part, Literal) and part.is_flexible and part.type in NUMERIC for part in parts
    )
    value = compile_expression(expression)(())
    return Literal(value, expression.type, is_flexible and isinstance(value, int) and not isinstance(value, bool))


def _unified(node: exp.Expr, left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Both with one type; unlike in comparisons, literals are brought into its range."""
    pair = unify(left, right)
    if pair is None:
        raise _mismatch(node, left, right)
    return _wrapped(pair[0]), _wrapped(pair[1])


def _wrapped(expression: Expression) -> Expression:
    match expression:
        case Literal(int() as value, "int64" | "uint64" as integer_type):
            return replace(expression, value=wrap(value, integer_type))
        case _:
            return expression


def _unify_all(
    left: Sequence[Expression], right: Sequence[Expression], node: exp.Expr
) -> list[tuple[Expression, Expression]]:
    if len(left) != len(right):
        raise YtError(f"Tuples of same size are expected but got {len(left)} vs {len(right)}")
    pairs = []
    for first, second in zip(left, right, strict=True):
        pair = unify(first, second)
        if pair is None:
            raise _mismatch(node, first, second)
        pairs.append(pair)
    return pairs


def _expect(
    types: frozenset[PhysicalType] | set[PhysicalType], operand: Expression, node: exp.Expr, operand_node: exp.Expr
) -> None:
    if operand.type != "null" and operand.type not in types:
        raise YtError(
            f'Type mismatch in expression "{words_of(node)}"',
            attributes={
                "source": words_of(operand_node),
                "expected_types": sorted(types),
                "actual_type": operand.type,
            },
        )


def _expect_count(name: str, actual: int, expected: int, is_variadic: bool) -> None:
    if actual != expected and not (is_variadic and (actual > expected or expected == 1)):
        raise YtError(f'Wrong number of arguments to function "{name}": expected {expected}, got {actual}')


def _mismatch(node: exp.Expr, *operands: Expression) -> YtError:
    types = [operand.type for operand in operands]
    return YtError(f'Type mismatch in expression "{words_of(node)}"', attributes={"types": types})
