"""Pages follow the words of the project, and the judge of them notices when they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.prose import GENERATED, MAX_LINES, NOT_YET_REWRITTEN, ROOT, breaches, is_bound, pages, reading

PAGES = list(pages())


@pytest.mark.parametrize(
    "page", [page for page in PAGES if is_bound(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_rewritten_page_follows_the_rules_of_words(page: Path) -> None:
    assert breaches(page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_that_people_write_is_longer_than_a_reader_can_scan(page: Path) -> None:
    if page.name not in GENERATED:
        assert len(page.read_text().splitlines()) <= MAX_LINES


def test_every_page_that_waits_for_its_rewriting_exists() -> None:
    assert {page.name for page in PAGES} >= NOT_YET_REWRITTEN


def test_a_forbidden_phrase_is_named_with_what_to_say_for_it() -> None:
    assert breaches("The offset is behind the end.") == ["'behind the end': say 'past the end'"]


def test_code_may_say_anything() -> None:
    assert breaches("Run `trouble --anew`.\n\n```console\n$ trouble\n```\n") == []


def test_short_sentences_read_easier_than_long_ones() -> None:
    short = reading("The agent reads the queue. It trims the rows.")
    long = reading("The agent, considering registrations of consumers, additionally determines trimming eligibility.")
    assert short.grade < 4 < 12 < long.grade
    assert short.word_count == 9
