"""Tests that need an extra which is not installed: skipped for that reason, where importing them would fail."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

_LIBRARIES: Final = ("pyspark", "pyarrow", "matplotlib")


class _SkippedModule(pytest.Module):
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        pytest.skip('PySpark and what it needs come with the extra "spark"', allow_module_level=True)


def skipped_without_spark(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """What `pytest_pycollect_makemodule` returns for tests of the extra `spark`."""
    if all(find_spec(library) for library in _LIBRARIES):
        return None
    skipped: _SkippedModule = _SkippedModule.from_parent(parent, path=module_path)
    return skipped
