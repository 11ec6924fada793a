"""Links between pages lead somewhere, and every page can be found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pytest

from tests.console_blocks import blocks

ROOT: Final = Path(__file__).parents[2]
FOLDERS: Final = ("docs", "helm", "deploy", "examples", "benchmarks")
PAGES: Final = sorted([*ROOT.glob("*.md"), *(page for name in FOLDERS for page in (ROOT / name).rglob("*.md"))])
ENTRANCES: Final = (ROOT / "README.md", ROOT / "docs" / "README.md")

_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]*`")
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_SCHEME: Final = re.compile(r"[a-z]+:")


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Paths and anchors of the links that stay inside of the repository."""
    text = _FENCE.sub("", page.read_text())
    for target in _LINK.findall(_CODE.sub("code", text)):
        if not _SCHEME.match(target):
            path, _, anchor = unquote(target).partition("#")
            yield path, anchor


def target_of(page: Path, path: str) -> Path:
    return (page.parent / path).resolve() if path else page


def anchors(page: Path) -> set[str]:
    """Names by which headings of a page can be linked."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_to_what_is_there(page: Path) -> None:
    for path, anchor in links(page):
        target = target_of(page, path)
        assert target.exists(), f"{path} is not there"
        if anchor:
            assert anchor in anchors(target), f"{path or page.name} has no heading #{anchor}"


def test_every_page_can_be_reached_from_the_readme_or_the_index() -> None:
    reached: set[Path] = set()
    waiting = list(ENTRANCES)
    while waiting:
        page = waiting.pop()
        if page in reached or not page.exists():
            continue
        if page.is_dir():  # it is shown with all that is in it
            waiting += page.glob("*.md")
            continue
        reached.add(page)
        if page.suffix == ".md":
            waiting += [target_of(page, path) for path, _ in links(page)]
    lost = [str(page.relative_to(ROOT)) for page in PAGES if page not in reached]
    assert lost == [], "link them from docs/README.md"


def test_every_test_that_the_page_of_hazards_names_is_there() -> None:
    page = (ROOT / "docs" / "safety.md").read_text()
    in_file, count = "", 0
    for path, test in re.findall(r"`(?:\.\.\.|([a-z0-9_/]+\.py))::(\w+)`", page):
        in_file = path or in_file
        assert f"def {test}(" in (ROOT / "tests" / in_file).read_text(), (in_file, test)
        count += 1
    assert count > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_console_block_is_run_or_says_why_not(page: Path) -> None:
    for block in blocks(page):
        assert block.verb, f"write <!-- run --> or <!-- not run: REASON --> above {block.commands[0]!r}"
        assert block.text or block.verb == "run", "say for what to wait, or why it is not run"
