"""These tests need no session, but the libraries of the extra `spark`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.extras import skipped_without_spark


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return skipped_without_spark(module_path, parent)
