"""These tests need no session, but the libraries of the extra `spark`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.extras import skipped_without_spark

if TYPE_CHECKING:
    from tests.unit.spark.export_fakes import ExportWorld


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return skipped_without_spark(module_path, parent)


@pytest.fixture
def world() -> ExportWorld:
    """A queue and where it is exported to, both in memory."""
    from tests.unit.spark.export_fakes import ExportWorld

    return ExportWorld()
