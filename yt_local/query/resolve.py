"""Syntax trees to expressions: names become places in the row, types are found and checked, constants folded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Final, assert_never

from yt_local.base.turns import give_way
from yt_local.query import calls, operators
from yt_local.query.constants import ranges_of, rows_of, value_of
from yt_local.query.depth import MAX_DEPTH, too_deep
from yt_local.query.expressions import (
    Between,
    Call,
    Cases,
    Expression,
    In,
    Lookup,
    Reference,
)
from yt_local.query.grouping import Grouping
from yt_local.query.inference import (
    ALL,
    BOOLEAN,
    STRING,
    TypeSet,
    Untyped,
    constant,
    front,
    in_words,
    typed,
)
from yt_local.query.patterns import full_match, like
from yt_local.query.scope import Scope
from yt_local.query.syntax import (
    Alias,
    Among,
    Binary,
    Case,
    Chain,
    Constant,
    Function,
    Like,
    Name,
    Node,
    Nodes,
    Ranges,
    Transform,
    Unary,
)
from yt_local.query.wording import qualified, words_of, words_of_all
from yt_local.schema.column_types import PhysicalType
from yt_local.schema.keys import Row, Value
from yt_wire.error import YtError

_MAX_STEPS: Final = 50_000
"""Names that stand for names can make a short query a huge one."""


class Resolver:
    """Resolves the expressions of one query.

    Args:
        scope: the columns.
        aliases: expressions by the names given to them, which all clauses may use.
    """

    def __init__(self, scope: Scope, aliases: Mapping[str, Node]) -> None:
        self._scope = scope
        self._aliases = aliases
        self._aliases_in_use: set[str] = set()
        self._grouping: Grouping | None = None
        self._steps = 0
        self._depth = 0

    def for_scope(self, scope: Scope) -> Resolver:
        """One with other columns and the same aliases."""
        return Resolver(scope, self._aliases)

    def group_by(self, grouping: Grouping) -> None:
        """From now on resolve to places in the row of a group."""
        self._grouping = grouping

    def expression(self, node: Node) -> Expression:
        """The expression of a node, with the type it has by itself.

        Raises:
            YtError: an undefined name, types that do not go together, a construct that is not supported.
        """
        return self.resolve(node).built()

    def condition(self, nodes: Nodes, clause: str) -> Expression:
        """An expression that must be boolean."""
        expression = self.expression(_scalar(nodes))
        if expression.type != "boolean":
            raise YtError(
                f"{clause}-clause is not a boolean expression",
                attributes={"source": words_of_all(nodes), "actual_type": expression.type, "expected_type": "boolean"},
            )
        return expression

    def resolve(self, node: Node) -> Untyped:
        """As `expression`, with the type still open where it is."""
        give_way()
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise YtError(f"Query is too complex: it has more than {_MAX_STEPS} expressions")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise too_deep()
        try:
            return self._resolved(node)
        finally:
            self._depth -= 1

    def _resolved(self, node: Node) -> Untyped:
        if self._grouping is not None:
            key = self._grouping.key(node)
            if key is not None:
                return typed(key)
        match node:
            case Constant(value, written_as):
                return constant(value, written_as)
            case Name(name, table):
                return self._name(name, table)
            case Alias(_, name):
                return self._name(name, None)
            case Function():
                return self._function(node)
            case Unary(operator, operand):
                return operators.unary(operator, self.resolve(_scalar(operand)))
            case Binary(operator, left, right):
                return self._binary(node, operator, left, right)
            case Chain(operator, operands):
                return typed(operators.logic(operator, [self.resolve(_scalar(operand)) for operand in operands]))
            case Among(needle, rows):
                arguments, types = self._needle(needle, "IN")
                return typed(calls.fold(In(arguments, frozenset(rows_of(rows, types)))))
            case Ranges(needle, ranges):
                arguments, types = self._needle(needle, "BETWEEN")
                return typed(calls.fold(Between(arguments, ranges_of(ranges, types))))
            case Transform():
                return self._transform(node)
            case Case():
                return self._case(node)
            case Like():
                return self._like(node)
            case _:
                assert_never(node)

    def _name(self, name: str, table: str | None) -> Untyped:
        if self._grouping is not None and table is None:
            key = self._grouping.named(name)
            if key is not None:
                return typed(key)
        if table is None and name in self._aliases and name not in self._aliases_in_use:
            self._aliases_in_use.add(name)
            try:
                return self.resolve(self._aliases[name])
            finally:
                self._aliases_in_use.discard(name)
        reference = None if self._grouping is not None else self._scope.find(name, table)
        if reference is None:
            raise YtError(f'Undefined reference "{qualified(name, table)}"')
        return constant(None, "null") if reference.type == "null" else typed(reference)

    def _function(self, node: Function) -> Untyped:
        name = node.name.lower()
        calls.check_known(name)
        if not calls.is_aggregate(name):
            return calls.call(name, [self.resolve(argument) for argument in node.arguments])
        grouping = self._grouping
        if grouping is None:
            raise YtError(f'Misuse of aggregate function "{name}"')
        with self._ungrouped():
            arguments = [self.resolve(argument) for argument in node.arguments]
        try:
            return calls.aggregate(name, arguments, grouping.aggregate)
        except YtError as error:
            message = "Error creating aggregate"
            raise YtError(message, attributes={"source": words_of(node)}, inner_errors=[error]) from error

    @contextmanager
    def _ungrouped(self) -> Iterator[None]:
        grouping, self._grouping = self._grouping, None
        try:
            yield
        finally:
            self._grouping = grouping

    def _binary(self, node: Node, operator: str, left: Nodes, right: Nodes) -> Untyped:
        try:
            if operator not in operators.COMPARISONS:
                return operators.binary(operator, self.resolve(_scalar(left)), self.resolve(_scalar(right)))
            sides = ([self.resolve(item) for item in side] for side in (left, right))
            return typed(operators.compare(operators.comparison(operator), *sides))
        except YtError as error:
            error.attributes.setdefault("source", words_of(node))
            raise

    def _needle(self, needle: Nodes, operator: str) -> tuple[tuple[Expression, ...], list[PhysicalType]]:
        arguments = tuple(self.expression(item) for item in needle)
        columns = [argument for argument in arguments if isinstance(argument, Reference)]
        if len(set(columns)) != len(columns):
            raise YtError(f'{operator} operator has multiple references to one column in "{words_of_all(needle)}"')
        types = [argument.type for argument in arguments]
        if "any" in types:
            raise YtError(f'Cannot use expression of type "any" with {operator} operator')
        return arguments, types

    def _transform(self, node: Transform) -> Untyped:
        arguments, types = self._needle(node.needle, "TRANSFORM")
        if len(node.sources) != len(node.targets):
            raise YtError("Size mismatch for source and result arrays in TRANSFORM operator")
        if any(len(target) != 1 for target in node.targets):
            raise YtError("Expecting scalar expression")
        targets = [target[0] for target in node.targets]
        default = constant(None, "null") if node.default is None else self.resolve(_scalar(node.default))
        result_types = ALL
        for item in (*(constant(target.value, target.type) for target in targets), default):
            result_types = _narrowed(result_types, item, "Types mismatch in tuple")
        result_type = front(result_types)
        values: dict[Row, Value] = {}
        for source, target in zip(rows_of(node.sources, types), targets, strict=True):
            values.setdefault(source, value_of(target, result_type))
        return typed(calls.fold(Lookup(arguments, values, default.build(result_type), result_type)))

    def _case(self, node: Case) -> Untyped:
        operand = None if node.operand is None else self.resolve(_scalar(node.operand))
        if operand is not None:
            operand = replace(operand, build=cache(operand.build))  # for each branch the same
        tests = [self.resolve(_scalar(test)) for test, _ in node.branches]
        results = [self.resolve(_scalar(result)) for _, result in node.branches]
        default = constant(None, "null") if node.default is None else self.resolve(_scalar(node.default))
        if operand is None:
            for test in tests:
                _narrowed(BOOLEAN, test, "Expression inside CASE WHEN should be boolean")
            conditions = [test.build("boolean") for test in tests]
        else:
            conditions = [operators.compare("=", [operand], [test]) for test in tests]
        types = ALL
        for result in (*results, default):
            types = _narrowed(types, result, "Types mismatch in CASE THEN expression")

        def build(target: PhysicalType) -> Expression:
            branches = zip(conditions, [result.build(target) for result in results], strict=True)
            return calls.fold(Cases(tuple(branches), default.build(target), target))

        return Untyped(types, build)

    def _like(self, node: Like) -> Untyped:
        if node.operator == "RLIKE" and node.escape is not None:
            raise YtError("ESCAPE should not be used together with REGEXP (RLIKE)")
        arguments = [self._string(node.text, "LIKE matched value"), self._string(node.pattern, "LIKE pattern")]
        if node.escape is not None:
            arguments.append(self._string(node.escape, "escape character"))
        ignore_case = node.operator == "ILIKE"

        def matches(text: bytes, pattern: bytes, escape: bytes | None = None) -> bool:
            return like(text, pattern, escape, ignore_case=ignore_case)

        def matches_expression(text: bytes, pattern: bytes) -> bool:
            return full_match(pattern, text)

        function = matches_expression if node.operator == "RLIKE" else matches
        return typed(calls.fold(Call(node.operator, tuple(arguments), "boolean", function)))

    def _string(self, nodes: Nodes, what: str) -> Expression:
        operand = self.resolve(_scalar(nodes))
        _narrowed(STRING, operand, f"Types mismatch in {what}")
        return operand.build("string")


def _scalar(nodes: Sequence[Node]) -> Node:
    if len(nodes) != 1:
        raise YtError("Expecting scalar expression", attributes={"source": words_of_all(tuple(nodes))})
    return nodes[0]


def _narrowed(types: TypeSet, operand: Untyped, message: str) -> TypeSet:
    common = types & operand.types
    if not common:
        attributes = {"actual_type": in_words(operand.types), "expected_type": in_words(types)}
        raise YtError(message, attributes=attributes)
    return common
