"""The builder of the documentation site: every page has a place in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BUILDER = runpy.run_path(str(ROOT / "packaging" / "site" / "build.py"))


def pages_of(navigation: list[dict[str, list[str]]]) -> list[str]:
    return [page for section in navigation for pages in section.values() for page in pages]


def test_every_page_of_the_documentation_has_one_place_in_the_navigation(tmp_path: Path) -> None:
    BUILDER["stage"](tmp_path)
    navigation: list[Any] = BUILDER["navigation"](tmp_path)
    pages = pages_of(navigation)
    assert len(pages) == len(set(pages))
    assert {*pages} == {str(page.relative_to(tmp_path)) for page in tmp_path.rglob("*.md")}
    assert {str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")} <= {*pages}
    assert [next(iter(section)) for section in navigation][:5] == [
        "Start",
        "Tutorials",
        "How-to guides",
        "Explanation",
        "Reference",
    ]


def test_what_a_page_links_to_is_part_of_the_site(tmp_path: Path) -> None:
    BUILDER["stage"](tmp_path)
    assert (tmp_path / "deploy" / "spark" / "cronjob.yaml").is_file()


@pytest.mark.parametrize(
    "markup",
    [
        '<script src="https://cdn.example.org/mermaid.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/roboto.css">',
        '<img src="http://example.org/picture.png">',
    ],
)
def test_what_a_page_loads_from_another_server_is_named(markup: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(markup)
    assert len(BUILDER["foreign_addresses"](tmp_path)) == 1


def test_links_that_a_reader_may_follow_are_no_addresses_of_others(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<a href="https://ytsaurus.tech">YTsaurus</a><script src="assets/mermaid.js"></script>'
    )
    assert BUILDER["foreign_addresses"](tmp_path) == []


def test_screenshots_that_are_missing_are_told_of(tmp_path: Path) -> None:
    with pytest.raises(BUILDER["SiteError"], match="run make check-console first"):
        BUILDER["add_screenshots"](tmp_path / "pages", tmp_path)


def test_screenshots_have_a_page_of_their_own(tmp_path: Path) -> None:
    report = tmp_path / "report"
    report.mkdir()
    (report / "overview-desktop-dark.png").write_bytes(b"picture")
    (tmp_path / "pages" / "docs").mkdir(parents=True)
    BUILDER["add_screenshots"](tmp_path / "pages", report)
    page = (tmp_path / "pages" / "docs" / "console-screenshots.md").read_text()
    assert "![overview desktop dark](images/console-report/overview-desktop-dark.png)" in page
