"""Generated pages."""

from __future__ import annotations

import pytest

from queue_agent.cli.reference import DOCS, pages


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_in_the_repository_is_what_the_code_generates_now(name: str) -> None:
    assert (DOCS / name).read_text() == pages()[name], "run `make docs`"
