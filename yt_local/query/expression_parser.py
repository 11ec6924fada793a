"""Tokens to expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal as Choice
from typing import cast

from yt_local.base.turns import give_way
from yt_local.query.depth import MAX_NESTING, too_deep
from yt_local.query.lexer import Token, parse_error
from yt_local.query.numbers import wrap
from yt_local.query.syntax import (
    Alias,
    Among,
    Binary,
    Case,
    Chain,
    Constant,
    ConstantRow,
    ConstantRows,
    Function,
    Like,
    Name,
    Node,
    Nodes,
    Ranges,
    Transform,
    Unary,
)
from yt_local.schema.column_types import PhysicalType
from yt_wire.error import YtError

_LEVELS: tuple[frozenset[str], ...] = (
    frozenset({"|"}),
    frozenset({"&"}),
    frozenset({"<<", ">>"}),
    frozenset({"+", "-", "||"}),
    frozenset({"*", "/", "%"}),
)
"""Binary operators by how strongly they bind, the weakest first."""

_ADDITIVE = 3

_LITERALS = frozenset({"int64", "uint64", "double", "boolean", "string", "null"})

_MATCHERS: dict[str, Choice["LIKE", "ILIKE", "RLIKE"]] = {
    "like": "LIKE",
    "ilike": "ILIKE",
    "rlike": "RLIKE",
    "regexp": "RLIKE",
}


class ExpressionParser:
    """Reads expressions off a list of tokens; what may be a tuple comes out as a tuple of nodes."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._position = 0
        self._nesting = 0
        self.aliases: dict[str, Node] = {}
        """All that were read so far."""

    @property
    def _next(self) -> Token:
        return self._tokens[self._position]

    def unexpected(self, expecting: str | None = None) -> YtError:
        """The error for the token that is next."""
        token = self._next
        words = f"syntax error, unexpected {token}" + (f", expecting {expecting}" if expecting else "")
        return parse_error(words, self._text, token.start, token.end)

    def is_next(self, *texts: str) -> bool:
        """Whether one of these keywords or operators is next."""
        token = self._next
        return token.kind in ("keyword", "operator") and token.text in texts

    def take(self, *texts: str) -> str | None:
        """Go past one of these keywords and operators, if it is next."""
        if not self.is_next(*texts):
            return None
        self._position += 1
        return self._tokens[self._position - 1].text

    def expect(self, text: str) -> None:
        if self.take(text) is None:
            raise self.unexpected(f"keyword `{text.upper()}`" if text[0].isalpha() else f"`{text}`")

    def expect_end(self) -> None:
        if self._next.kind != "end":
            raise self.unexpected("end of stream")

    def take_kind(self, *kinds: str) -> Token | None:
        """Go past a token of one of these kinds, if it is next."""
        if self._next.kind not in kinds:
            return None
        self._position += 1
        return self._tokens[self._position - 1]

    def identifier(self) -> str:
        token = self.take_kind("identifier")
        if token is None:
            raise self.unexpected("identifier")
        return token.text

    def name(self) -> Name:
        """A column, perhaps with the alias of its table."""
        first = self.identifier()
        return Name(self.identifier(), first) if self.take(".") else Name(first)

    def expressions(self) -> Nodes:
        """One or more, with commas between them."""
        nodes = [*self.expression()]
        while self.take(","):
            nodes += self.expression()
        return tuple(nodes)

    def expression(self) -> Nodes:
        nodes = self.condition()
        if not self.take("as"):
            return nodes
        name = self.identifier()
        if len(nodes) != 1:
            raise YtError(f'Aliased expression of "{name}" must be scalar')
        if name in self.aliases:
            raise YtError(f'Alias "{name}" has been already used')
        self.aliases[name] = nodes[0]
        return (Alias(nodes[0], name),)

    def condition(self) -> Nodes:
        """An expression without an alias."""
        first = self.conjunction()
        operands = [first]
        while self.take("or"):
            operands.append(self.conjunction())
        return first if len(operands) == 1 else (Chain("OR", tuple(operands)),)

    def conjunction(self) -> Nodes:
        first = self._negation()
        operands = [first]
        while self.take("and"):
            operands.append(self._negation())
        return first if len(operands) == 1 else (Chain("AND", tuple(operands)),)

    def bitwise(self) -> Nodes:
        """An expression of operators that bind more strongly than comparisons."""
        return self._binary(0)

    def _negation(self) -> Nodes:
        return (Unary("NOT", self._null_test()),) if self.take("not") else self._null_test()

    def _null_test(self) -> Nodes:
        operand = self._equality()
        if not self.take("is"):
            return operand
        is_negated = self.take("not") is not None
        if self._next.kind != "null":
            raise self.unexpected("keyword `NULL`")
        self._position += 1
        test = Function("is_null", operand)
        return (Unary("NOT", (test,)) if is_negated else test,)

    def _equality(self) -> Nodes:
        left = self._relation()
        while (operator := self.take("=", "!=")) is not None:
            left = (Binary(operator, left, self._relation()),)
        return left

    def _relation(self) -> Nodes:
        left = self.bitwise()
        if self.take("between"):
            return (self._between(left),)
        is_negated = self.take("not") is not None
        if self.take("in"):
            self.expect("(")
            test: Node = Among(left, self._constant_rows())
            return (Unary("NOT", (test,)) if is_negated else test,)
        operator = self.take(*_MATCHERS)
        if operator is not None:
            pattern = self._binary(_ADDITIVE)
            escape = self._binary(_ADDITIVE) if self.take("escape") else None
            test = Like(left, _MATCHERS[operator], pattern, escape)
            return (Unary("NOT", (test,)) if is_negated else test,)
        if is_negated:
            raise self.unexpected("keyword `IN`")
        while (operator := self.take("<", "<=", ">", ">=")) is not None:
            left = (Binary(operator, left, self.bitwise()),)
        return left

    def _between(self, needle: Nodes) -> Node:
        start = self._position
        if self.take("("):
            # Either a list of ranges or a tuple, which is the lower end of the only range.
            lower = self._constant_row()
            if self.take("and"):
                ranges = [(lower, self._constant_row())]
                while self.take(","):
                    lower = self._constant_row()
                    self.expect("and")
                    ranges.append((lower, self._constant_row()))
                self.expect(")")
                return Ranges(needle, tuple(ranges))
            self._position = start
        lower = self._constant_row()
        self.expect("and")
        upper = self._constant_row()
        return Chain("AND", ((Binary(">=", needle, lower),), (Binary("<=", needle, upper),)))

    def _binary(self, level: int) -> Nodes:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while (operator := self.take(*_LEVELS[level])) is not None:
            left = (Binary(operator, left, self._binary(level + 1)),)
        return left

    def _unary(self) -> Nodes:
        give_way()
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise too_deep()
        operator = self.take("+", "-", "~")
        nodes = self._atom() if operator is None else (Unary(operator, self._unary()),)
        self._nesting -= 1
        return nodes

    def _atom(self) -> Nodes:
        if self.take("("):
            nodes = self.expressions()
            self.expect(")")
            return nodes
        if self.take("transform"):
            return (self._transform(),)
        if self.take("case"):
            return (self._case(),)
        literal = self.take_kind(*_LITERALS)
        if literal is not None:
            return (_constant(literal),)
        if self._next.kind != "identifier":
            raise self.unexpected()
        name = self.name()
        if name.table is None and self.take("("):
            arguments = () if self.is_next(")") else self.expressions()
            self.expect(")")
            return (Function(name.name, arguments),)
        return (name,)

    def _transform(self) -> Node:
        self.expect("(")
        needle = self.expression()
        self.expect(",")
        self.expect("(")
        sources = self._constant_rows()
        self.expect(",")
        self.expect("(")
        targets = self._constant_rows()
        default = self.expression() if self.take(",") else None
        self.expect(")")
        return Transform(needle, sources, targets, default)

    def _case(self) -> Node:
        operand = None if self.is_next("when") else self.expression()
        branches: list[tuple[Nodes, Nodes]] = []
        self.expect("when")
        while True:
            test = self.expression()
            self.expect("then")
            branches.append((test, self.expression()))
            if not self.take("when"):
                break
        default = self.expression() if self.take("else") else None
        self.expect("end")
        return Case(operand, tuple(branches), default)

    def _constant_rows(self) -> ConstantRows:
        """Behind an opening parenthesis, up to the closing one."""
        rows = [self._constant_row()]
        while self.take(","):
            rows.append(self._constant_row())
        self.expect(")")
        return tuple(rows)

    def _constant_row(self) -> ConstantRow:
        if not self.take("("):
            return (self._constant_value(),)
        row = [self._constant_value()]
        while self.take(","):
            row.append(self._constant_value())
        self.expect(")")
        return tuple(row)

    def _constant_value(self) -> Constant:
        give_way()
        signs: list[str] = []
        while (operator := self.take("+", "-", "~")) is not None:
            signs.append(operator)
        literal = self.take_kind(*_LITERALS)
        if literal is None:
            raise self.unexpected()
        constant = _constant(literal)
        for operator in reversed(signs):
            constant = _signed(operator, constant)
        return constant


def _constant(token: Token) -> Constant:
    return Constant(token.value, cast(PhysicalType, token.kind))


def _signed(operator: str, constant: Constant) -> Constant:
    value = constant.value
    if operator == "-" and constant.type == "double":
        assert isinstance(value, float)
        return Constant(-value, "double")
    if operator == "+":
        return constant
    if constant.type not in ("int64", "uint64"):
        raise YtError("Negation of unsupported type" if operator == "-" else "Bitwise negation of unsupported type")
    assert isinstance(value, int)
    return Constant(wrap(-value if operator == "-" else ~value, constant.type), constant.type)
