"""Unit tests stand where their module does."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
CORE: Final = ROOT / "queue_agent" / "core"
TESTS: Final = ROOT / "tests" / "unit" / "core"


def test_every_module_of_core_has_tests_of_its_own_and_no_tests_outlive_their_module() -> None:
    modules = {str(file.relative_to(CORE)) for file in CORE.glob("*/*.py") if file.name != "__init__.py"}
    tested = {
        str(file.relative_to(TESTS).with_name(file.name.removeprefix("test_"))) for file in TESTS.rglob("test_*.py")
    }
    assert modules == tested
    assert modules
