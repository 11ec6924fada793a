"""How expressions are written in names of columns and in errors: with parentheses around every operand."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import assert_never

from yt_local.query.lexer import KEYWORDS
from yt_local.query.syntax import (
    Alias,
    Among,
    Binary,
    Case,
    Chain,
    Constant,
    ConstantRow,
    Function,
    Join,
    Like,
    Name,
    Node,
    Nodes,
    Ranges,
    Transform,
    Unary,
)
from yt_local.schema.keys import Value

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)
_NOT_PLAIN = KEYWORDS | {"null", "true", "false", "group", "order", "by", "with", "totals", "index"}


def column_name(node: Node) -> str:
    """The name of a column of the result that is computed by the expression."""
    match node:
        case Alias(_, name):
            return name
        case Name(name, table):
            return qualified(name, table)
        case _:
            return words_of(node)


def qualified(name: str, table: str | None) -> str:
    """A column's name as results and errors have it."""
    return name if table is None else f"{table}.{name}"


def words_of(node: Node) -> str:
    """The expression as text."""
    match node:
        case Constant(value, value_type):
            return words_of_value(value, value_type)
        case Name(name, table):
            return qualified(_identifier(name), table)
        case Alias(_, name):
            return _identifier(name)
        case Function(name, arguments):
            return f"{name}({words_of_all(arguments)})"
        case Unary(operator, operand):
            return f"{operator}({words_of_all(operand)})"
        case Binary(operator, left, right):
            return f"({words_of_all(left)}){operator}({words_of_all(right)})"
        case Chain(operator, operands):
            first, *others = map(words_of_all, operands)
            return "(" * len(others) + first + "".join(f"){operator}({words})" for words in others)
        case Among(needle, rows):
            return f"({words_of_all(needle)}) IN ({_rows(rows)})"
        case Ranges(needle, ranges):
            words = ", ".join(f"{_row(lower)} AND {_row(upper)}" for lower, upper in ranges)
            return f"({words_of_all(needle)}) BETWEEN ({words})"
        case Transform(needle, sources, targets, default):
            first = f"({words_of_all(needle)})" if len(needle) > 1 else words_of_all(needle)
            end = "" if default is None else f", {words_of_all(default)}"
            return f"TRANSFORM({first}, ({_rows(sources)}), ({_rows(targets)}){end})"
        case Case(optional, branches, default):
            start = "CASE" if optional is None else f"CASE {words_of_all(optional)}"
            middle = "".join(f" WHEN {words_of_all(test)} THEN {words_of_all(result)}" for test, result in branches)
            return f"{start}{middle}{'' if default is None else f' ELSE {words_of_all(default)}'} END"
        case Like(text, operator, pattern, escape):
            end = "" if escape is None else f" ESCAPE {words_of_all(escape)}"
            return f"{words_of_all(text)} {operator} {words_of_all(pattern)}{end}"
        case _:
            assert_never(node)


def words_of_all(nodes: Nodes) -> str:
    """A value or a tuple without its parentheses."""
    return ", ".join(words_of(node) for node in nodes)


def words_of_join(join: Join) -> str:
    """A join as text, for errors."""
    start = f"{'LEFT ' if join.is_left else ''}JOIN {_identifier(join.table.path)}"
    if join.table.alias is not None:
        start += f" AS {_identifier(join.table.alias)}"
    if join.using:
        return f"{start} USING {words_of_all(join.using)}"
    return f"{start} ON ({words_of_all(join.left)}) = ({words_of_all(join.right)})"


def words_of_value(value: Value, value_type: str) -> str:
    """A literal as it may be written in a query."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}u" if value_type == "uint64" else str(value)
        case bytes():
            return '"' + "".join(map(_escaped, value.decode("utf-8", "surrogateescape"))) + '"'
        case _:
            return str(value)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02X}"
    return character if character.isprintable() else "".join(f"\\x{byte:02X}" for byte in character.encode())


def _identifier(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and name.lower() not in _NOT_PLAIN:
        return name
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _row(row: ConstantRow) -> str:
    words = ", ".join(words_of_value(item.value, item.type) for item in row)
    return f"({words})" if len(row) > 1 else words


def _rows(rows: Iterable[ConstantRow]) -> str:
    return ", ".join(map(_row, rows))
