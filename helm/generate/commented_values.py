"""`values.yaml` as people write it: defaults, and a comment `# -- ...` above each key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

_KEY = re.compile(r"( *)([A-Za-z][A-Za-z0-9_]*):( |$)")
_COMMENT = re.compile(r" *# ?(.*)")


@dataclass(frozen=True, slots=True)
class Value:
    """One key of the file."""

    path: tuple[str, ...]
    default: Any
    description: str
    """Without line breaks; empty if nobody has said anything."""


def described_values(text: str) -> Iterator[Value]:
    """Keys that are described, and those that hold no section of such keys, in the order of the file."""
    values = yaml.safe_load(text)
    described: dict[tuple[str, ...], str] = {}
    path: list[tuple[int, str]] = []
    comment: list[str] | None = None
    for line in text.splitlines():
        commented = _COMMENT.fullmatch(line)
        if commented:
            words = commented[1]
            if words.startswith("-- "):
                comment = [words.removeprefix("-- ")]
            elif comment is not None:
                comment.append(words)
            continue
        key = _KEY.match(line)
        if key:
            indent = len(key[1])
            path = [*((depth, name) for depth, name in path if depth < indent), (indent, key[2])]
            if comment is not None:
                described[tuple(name for _, name in path)] = " ".join(comment)
        comment = None
    for keys in _paths(values, described):
        yield Value(keys, _get(values, keys), described.get(keys, ""))


def _paths(
    values: Mapping[str, Any], described: Mapping[tuple[str, ...], str], prefix: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    for name, value in values.items():
        path = (*prefix, name)
        inner = any(len(other) > len(path) and other[: len(path)] == path for other in described)
        if path in described or not inner:
            yield path
        if inner:
            yield from _paths(value, described, path)


def _get(values: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        values = values[name]
    return values
