"""Pages follow the words of the project, and the judge of them notices when they do not."""

from __future__ import annotations

import shutil
import statistics
import subprocess
from pathlib import Path

import pytest

from tests.prose import (
    MAX_LINES,
    MAX_MEDIAN_GRADE,
    ROOT,
    breaches,
    breaches_of_code,
    code,
    pages,
    reading,
)

PAGES = list(pages())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_follows_the_rules_of_words(page: Path) -> None:
    assert breaches(page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_is_longer_than_a_reader_can_scan(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= MAX_LINES


def test_a_forbidden_phrase_is_named_with_what_to_say_for_it() -> None:
    assert breaches("The offset is behind the end.") == ["'behind the end': say 'past the end'"]


def test_code_may_say_anything() -> None:
    assert breaches("Run `trouble --anew`.\n\n```console\n$ trouble\n```\n") == []


def test_messages_docstrings_and_comments_do_not_read_as_translated() -> None:
    found = {str(file.relative_to(ROOT)): breaches_of_code(file.read_text()) for file in code()}
    assert {name: breaches for name, breaches in found.items() if breaches} == {}


def test_a_translated_phrase_in_code_is_named_with_its_line() -> None:
    assert breaches_of_code('x = 1\n"""It begins anew."""\n') == ["line 2: 'anew': say 'again, or a verb with re-'"]
    assert breaches_of_code("# two consumers are told apart by name; it is told to stop; they are all the same") == []


def test_half_of_the_pages_read_at_the_ninth_grade_or_below() -> None:
    grades = {str(page.relative_to(ROOT)): reading(page.read_text()).grade for page in PAGES}
    for page, grade in sorted(grades.items(), key=lambda entry: entry[1]):
        print(f"{grade:4.1f}  {page}")
    print(f"{statistics.median(grades.values()):4.1f}  median of {len(grades)} pages")
    assert statistics.median(grades.values()) <= MAX_MEDIAN_GRADE


def test_short_sentences_read_easier_than_long_ones() -> None:
    short = reading("The agent reads the queue. It trims the rows.")
    long = reading("The agent, considering registrations of consumers, additionally determines trimming eligibility.")
    assert short.grade < 4 < 12 < long.grade
    assert short.word_count == 9


@pytest.mark.skipif(shutil.which("vale") is None, reason="`make docs-check` gets vale")
@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("Terms", "The offset is behind the end."),
        ("Translated", "The agent reads the queue anew."),
        ("Repetition", "The agent reads the the queue."),
        ("Length", "The agent reads " + "one queue and then " * 10 + "ends."),
        (
            "Grade",
            "Notwithstanding configurational idiosyncrasies, administrators occasionally reconfigure replication.",
        ),
        ("Foreign", "Whoever asks gets an answer."),
    ],
)
def test_vale_knows_each_rule(rule: str, text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{text}\n")
    done = subprocess.run(
        ["vale", "--config", ROOT / ".vale.ini", "--output=line", page], check=False, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stderr
    assert f"Words.{rule}:" in done.stdout
