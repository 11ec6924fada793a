"""Files that one can read at a sitting, and functions that fit on a screen."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = ("benchmarks", "deploy", "examples", "helm", "queue_agent", "tests", "yt_local", "yt_wire")
MAX_FILE_LINES: Final = 400
MAX_FUNCTION_LINES: Final = 60


def sources() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (file for file in (ROOT / folder).rglob("*.py") if not file.name.endswith("_pb2.py"))


def functions(statements: Sequence[ast.AST]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All of them, however deep within others; expressions, which are most of a file, have none."""
    for one in statements:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield one
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from functions(getattr(one, part, ()))


def test_no_file_is_too_long() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in sources()}
    assert {name: length for name, length in lengths.items() if length > MAX_FILE_LINES} == {}


def test_no_function_is_too_long() -> None:
    lengths = {
        f"{file.relative_to(ROOT)}:{node.name}": node.end_lineno - node.lineno + 1
        for file in sources()
        for node in functions(ast.parse(file.read_text()).body)
        if node.end_lineno is not None
    }
    assert {name: length for name, length in lengths.items() if length > MAX_FUNCTION_LINES} == {}
