"""How pages read: `python -m tests.prose` prints words and grade of each, and fails if one breaks a rule of words.

`--list` prints the names of the pages alone.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

ROOT: Final = Path(__file__).parents[1]
DECISIONS: Final = ROOT / "docs" / "adr"
"""Decisions are records of their day; they are not rewritten."""

MAX_LINES: Final = 400
MAX_MEDIAN_GRADE: Final = 9

WORDS: Final = ROOT / "deploy" / "vale" / "Words"
"""Vale reads these files too (`make docs-check`)."""


def _swaps(name: str) -> dict[str, str]:
    swaps: dict[str, str] = yaml.safe_load((WORDS / f"{name}.yml").read_text())["swap"]
    return swaps


CODE_RULES: Final = _swaps("Translated")
"""What neither a page nor code may say, and what to say for it."""

RULES: Final = _swaps("Terms") | CODE_RULES
"""What a page must not say, and what to say for it."""

CODE: Final = frozenset({".py", ".js", ".css", ".yaml", ".yml", ".tpl", ".toml"})
_EXEMPT: Final = (WORDS, ROOT / "tests" / "unit" / "test_prose.py")
"""Files that have to name what is forbidden."""

_FENCE: Final = re.compile(r"^ *```.*?^ *```|<!--.*?-->", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]*`")
_LINK: Final = re.compile(r"\[([^\]]*)\]\([^)\s]+\)")
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z'-]*")
_TABLE_ROW: Final = re.compile(r"^ *\|.*$", re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"[.!?](?:\s|$)|\n\s*\n|\n\s*(?:[-*]|\d+\.) |\n#+ ")
_VOWELS: Final = re.compile(r"[aeiouy]+")


@dataclass(frozen=True)
class Reading:
    """Length of a page, and the school grade (Flesch-Kincaid) that its sentences ask for."""

    word_count: int
    grade: float


def pages() -> Iterator[Path]:
    """Pages that people write and read, decisions left out."""
    yield ROOT / "README.md"
    yield from (page for page in sorted((ROOT / "docs").rglob("*.md")) if DECISIONS not in page.parents)


def prose(text: str) -> str:
    """What a page says: without code blocks and comments, with `x` for code, which has no syllables to speak of."""
    return _LINK.sub(r"\1", _CODE.sub("x", _FENCE.sub("\n\n", text)))


def reading(text: str) -> Reading:
    """Flesch-Kincaid grade without tables; syllables are groups of vowels, so the grade is an estimate."""
    said = _TABLE_ROW.sub("\n", prose(text))  # cells are no sentences
    sentences = [words for part in _SENTENCE_END.split(said) if (words := _WORD.findall(part))]
    words = [word for sentence in sentences for word in sentence]
    if not words:
        return Reading(0, 0.0)
    syllables = sum(_syllables(word) for word in words)
    return Reading(len(words), 0.39 * len(words) / len(sentences) + 11.8 * syllables / len(words) - 15.59)


def breaches(text: str) -> list[str]:
    """Phrases of a page that a rule forbids, each with what to say for it."""
    said = prose(text)
    return [
        f"{found.group()!r}: say {instead!r}"
        for pattern, instead in RULES.items()
        for found in re.finditer(pattern, said, re.IGNORECASE)
    ]


def code() -> Iterator[Path]:
    """Files that git tracks, whose messages, docstrings and comments people read."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        file = ROOT / name
        if file.suffix in CODE and file.is_file() and not any(file.is_relative_to(exempt) for exempt in _EXEMPT):
            yield file


def breaches_of_code(text: str) -> list[str]:
    """Phrases of code that read as translated, each with its line and what to say for it."""
    return [
        f"line {text.count(chr(10), 0, found.start()) + 1}: {found.group()!r}: say {instead!r}"
        for pattern, instead in CODE_RULES.items()
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


def _syllables(word: str) -> int:
    spoken = word.lower()
    count = len(_VOWELS.findall(spoken))
    return max(1, count - (spoken.endswith("e") and not spoken.endswith("le")))


def main() -> int:
    if sys.argv[1:] == ["--list"]:
        print("\n".join(str(page.relative_to(ROOT)) for page in pages()))
        return 0
    readings = []
    broken = 0
    for page in pages():
        text = page.read_text()
        result = reading(text)
        found = breaches(text)
        readings.append(result)
        name = str(page.relative_to(ROOT))
        print(f"{name:48} {result.word_count:6} words  grade {result.grade:4.1f}  {len(found)} breaches")
        broken += len(found)
        for breach in found:
            print(f"    {breach}")
    median = statistics.median(result.grade for result in readings)
    words = sum(result.word_count for result in readings)
    print(f"{words} words in {len(readings)} pages, median grade {median:.1f} (at most {MAX_MEDIAN_GRADE})")
    return 1 if broken or median > MAX_MEDIAN_GRADE else 0


if __name__ == "__main__":
    sys.exit(main())
