"""Generated pages."""

from __future__ import annotations

from queue_agent.cli.reference import DOCS, pages


def test_pages_in_the_repository_are_what_the_code_generates_now() -> None:
    for name, text in pages().items():
        assert (DOCS / name).read_text() == text, "run `make docs`"
