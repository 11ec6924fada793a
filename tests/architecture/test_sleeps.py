"""Tests wait for what they want to see; time alone proves nothing on a busy machine."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = ("tests", "deploy", "helm")


def bare_sleeps(source: str) -> list[int]:
    """Lines that sleep for a time and neither poll for a condition nor say why.

    A turn of the loop, `sleep(0)`, is free. A pause of a `while` loop that has a condition, or a way out, polls. Any
    other sleep has a comment in its line that says why that time passes: it belongs to what is tested.
    """
    if "sleep(" not in source:
        return []
    explained = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and not token.string.startswith("# noqa")
    }
    return [line for line in _sleeps(ast.parse(source), polling=False) if line not in explained]


def _sleeps(node: ast.AST, *, polling: bool) -> Iterator[int]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            polling = False
        case ast.While():
            polling = _has_end(node)
        case ast.Call(args=[ast.Constant(value=0)]):
            pass
        case ast.Call(func=ast.Attribute(attr="sleep") | ast.Name(id="sleep")) if not polling:
            yield node.lineno
    for child in ast.iter_child_nodes(node):
        yield from _sleeps(child, polling=polling)


def _has_end(loop: ast.While) -> bool:
    is_endless = isinstance(loop.test, ast.Constant)
    return not is_endless or any(isinstance(node, ast.Return | ast.Break | ast.Raise) for node in ast.walk(loop))


def test_no_test_sleeps_for_a_time_without_a_reason() -> None:
    found = {
        str(file.relative_to(ROOT)): lines
        for folder in FOLDERS
        for file in (ROOT / folder).rglob("*.py")
        if (lines := bare_sleeps(file.read_text()))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "is_refused"),
    [
        ("time.sleep(0.1)", True),
        ("for _ in range(9):\n    sleep(1)", True),
        ("while True:\n    write()\n    time.sleep(1)", True),
        ("while not done():\n    def work():\n        time.sleep(1)", True),
        ("time.sleep(1)  # noqa: ASYNC251", True),
        ("time.sleep(1)  # as long as the lease", False),
        ("await asyncio.sleep(0)", False),
        ("while not done():\n    time.sleep(0.1)", False),
        ("while True:\n    if done():\n        break\n    time.sleep(0.1)", False),
    ],
)
def test_a_bare_sleep_is_found(source: str, *, is_refused: bool) -> None:
    assert bool(bare_sleeps(source)) is is_refused
