"""The table of values in the chart's README."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from helm.generate.commented_values import Value

MARK: Final = "## Values"
"""What is below this line is generated; what is above it people write."""


def build_readme(written: str, values: Iterable[Value]) -> str:
    """The page with a table that fits the values.

    Raises:
        ValueError: the mark is missing.
    """
    head, mark, _ = written.partition(MARK)
    if not mark:
        raise ValueError(f"the chart's README has lost its line {MARK!r}")
    rows = [f"| `{'.'.join(value.path)}` | {_default(value)} | {_cell(value.description)} |" for value in values]
    table = "\n".join(["| value | default | meaning |", "| --- | --- | --- |", *rows])
    return f"{head}{mark}\n\nGenerated from `values.yaml` (`make docs`).\n\n{table}\n"


def _default(value: Value) -> str:
    if isinstance(value.default, dict) and value.default:
        return "see `values.yaml`"
    return f"`{_cell(json.dumps(value.default))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
