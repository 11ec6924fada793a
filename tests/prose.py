"""How pages read: `python -m tests.prose` prints words and grade of each, and fails if one breaks a rule of words."""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DECISIONS: Final = ROOT / "docs" / "adr"
"""Decisions are records of their day; they are not rewritten."""

MAX_LINES: Final = 400
GENERATED: Final = frozenset({"commands.md", "configuration.md", "metrics.md"})
"""Pages whose length the code decides: one table row or section for each option, metric or command."""

NOT_YET_REWRITTEN: Final = frozenset(
    {
        "architecture.md",
        "benchmarks.md",
        "commands.md",
        "configuration.md",
        "conformance.md",
        "console.md",
        "history.md",
        "http-api.md",
        "kubernetes.md",
        "metrics.md",
        "monitoring.md",
        "operator-cluster.md",
        "running.md",
        "safety.md",
        "static-exports.md",
        "status.md",
        "tests.md",
        "verdicts.md",
    }
)
"""Pages of `docs/` that the rules do not bind yet. A page that is rewritten leaves this list."""

RULES: Final = {
    r"\banew\b": "again, or a verb with re-",
    r"\btroubles?\b": "problem, error",
    r"\bcan not\b": "cannot",
    r"behind the (?:end|last)": "past the end",
    r"rows? that waits?\b|rows wait\b": "unread rows",
    r"how far behind": "lag",
    r"\bget(?:s|ting)? on\b": "is stuck; proceeds",
    r"\bgo(?:es)? on\b|\bgone on\b": "continue, resume",
    r"\bmend(?:s|ed)?\b": "fix",
    r"\bwill do\b": "is enough",
    r"\bno matter\b": "does not matter",
    r"\bstands\b": "is",
    r"\bmakes? no sense\b": "is invalid",
    r"\bsubscri(?:bers?|ptions?)\b": "consumer; registration",
    r"(?<!there )\b(?:is|are) no\b(?! longer)": "is not",
}
"""What a sentence must not say, and what to say for it: the words of this project (CONTRIBUTING.md)."""

_FENCE: Final = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
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
    """What a page says: without code blocks, with `x` for code, which has no syllables to speak of."""
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


def is_bound(page: Path) -> bool:
    return page.name not in NOT_YET_REWRITTEN


def _syllables(word: str) -> int:
    spoken = word.lower()
    count = len(_VOWELS.findall(spoken))
    return max(1, count - (spoken.endswith("e") and not spoken.endswith("le")))


def main() -> int:
    readings = []
    broken = 0
    for page in pages():
        text = page.read_text()
        result = reading(text)
        found = breaches(text)
        readings.append(result)
        name = str(page.relative_to(ROOT))
        print(f"{name:48} {result.word_count:6} words  grade {result.grade:4.1f}  {len(found)} breaches")
        if is_bound(page):
            broken += len(found)
            for breach in found:
                print(f"    {breach}")
    median = statistics.median(result.grade for result in readings)
    print(f"{sum(result.word_count for result in readings)} words in {len(readings)} pages, median grade {median:.1f}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
