"""How expressions are written in names of columns and in errors."""

from __future__ import annotations

import re

from sqlglot import exp

BINARY_WORDS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.And: "and",
    exp.Or: "or",
}

UNARY_WORDS: dict[type[exp.Expr], str] = {exp.Neg: "-", exp.BitwiseNot: "~"}

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def name_of(identifier: exp.Expr) -> str:
    """The name an identifier stands for; escapes exist in brackets only."""
    text = str(identifier.this)
    return _ESCAPED.sub(r"\1", text) if identifier.args.get("quoted") else text


def reference_name(column: exp.Column) -> str:
    """Name of a column, with the alias of its table if there is one."""
    table = column.args.get("table")
    name = name_of(column.this)
    return name if table is None else f"{name_of(table)}.{name}"


def words_of(node: exp.Expr) -> str:
    """The expression as text; it is the name of a column that was given none."""
    match node:
        case exp.Paren():
            return words_of(node.this)
        case exp.Column():
            return reference_name(node)
        case exp.Literal():
            return f'"{node.this}"' if node.is_string else str(node.this)
        case exp.Boolean():
            return "true" if node.this else "false"
        case exp.Null():
            return "null"
        case exp.Anonymous():
            return f"{str(node.this).lower()}({', '.join(words_of(argument) for argument in node.expressions)})"
        case exp.Tuple():
            return f"({', '.join(words_of(item) for item in node.expressions)})"
        case exp.Not():
            return f"not {_operand(node.this)}"
        case exp.In():
            return f"{_operand(node.this)} in ({', '.join(words_of(item) for item in node.expressions)})"
        case exp.Between():
            low, high = _operand(node.args["low"]), _operand(node.args["high"])
            return f"{_operand(node.this)} between {low} and {high}"
        case exp.Is():
            return f"{_operand(node.this)} is {words_of(node.expression)}"
    if type(node) in UNARY_WORDS:
        return f"{UNARY_WORDS[type(node)]}{_operand(node.this)}"
    if type(node) in BINARY_WORDS:
        return f"{_operand(node.this)} {BINARY_WORDS[type(node)]} {_operand(node.expression)}"
    return node.key


def _operand(node: exp.Expr) -> str:
    inner = node.unnest() if isinstance(node, exp.Paren) else node
    words = words_of(inner)
    is_simple = isinstance(inner, (exp.Column, exp.Literal, exp.Boolean, exp.Null, exp.Anonymous, exp.Tuple))
    return words if is_simple else f"({words})"
