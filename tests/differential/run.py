"""Two clusters with one history: one is asked over HTTP, the other by the C++ driver."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from yt.wrapper import YtClient

from tests.conformance.rpc_driver import DriverProcess
from tests.differential.answers import perform
from tests.differential.commands import Call, Commands, setup
from yt_local.testing import local_clusters

EXPLAINED: Final = Path(__file__).with_name("explained.toml")
_SHOWN: Final = 40
_WITHOUT_MEMORY: Final = {
    "table_mount_cache": {
        "expire_after_successful_update_time": 0,
        "expire_after_failed_update_time": 0,
        "refresh_time": None,
    }
}
"""For the driver: what it remembers of a table is no longer true once that is altered."""
_over_there: list[str] = []
"""Transactions of the client in the driver's process."""


@dataclass(frozen=True)
class Explanation:
    """Answers that may differ, and why."""

    methods: frozenset[str]
    http: re.Pattern[str]
    rpc: re.Pattern[str]
    why: str

    def covers(self, difference: Difference) -> bool:
        return (
            difference.call.method in self.methods
            and self.http.search(difference.http) is not None
            and self.rpc.search(difference.rpc) is not None
        )


@dataclass(frozen=True)
class Difference:
    """One call that was answered in two ways."""

    number: int
    call: Call
    http: str
    rpc: str


@dataclass
class Found:
    """What a run has come to."""

    commands: int
    answered: Counter[str] = field(default_factory=Counter)
    unexplained: list[Difference] = field(default_factory=list)
    explained: Counter[str] = field(default_factory=Counter)

    def lines(self) -> Iterator[str]:
        for one in self.unexplained[:_SHOWN]:
            yield f"{one.number}: {one.call}\n    http: {one.http[:600]}\n    rpc:  {one.rpc[:600]}"
        for why, count in self.explained.most_common():
            yield f"{count} differ: {why}"
        yield f"{self.commands} commands, of which {self.answered['fine']} were carried out"
        yield f"{len(self.unexplained)} unexplained differences"


def differences(seed: int, count: int) -> Found:
    """Ask both clusters the same.

    Args:
        seed: of the commands.
        count: of commands, after those that make the first objects.
    """
    explanations = read_explanations()
    found = Found(count)
    commands = Commands(seed)
    calls = [*setup(), *(commands.next() for _ in range(count))]
    with local_clusters("pythia") as by_http, local_clusters("pythia") as by_rpc:
        client = by_http["pythia"].client
        transactions: list[str] = []
        with DriverProcess(by_rpc["pythia"].address, driver_config=_WITHOUT_MEMORY) as driver:
            driver.do("exists", "/")  # one that cannot start would refuse everything, as clients do
            for number, call in enumerate(calls):
                http = perform(client, call, transactions)
                rpc = driver.run(perform_there, call)
                found.answered["fine" if "error" not in _keys(http) else "refused"] += 1
                if http != rpc:
                    _note(found, Difference(number, call, _text(http), _text(rpc)), explanations)
    return found


def perform_there(client: YtClient, call: Call) -> Any:
    """In the driver's process."""
    return perform(client, call, _over_there)


def read_explanations() -> list[Explanation]:
    entries: list[Mapping[str, Any]] = tomllib.loads(EXPLAINED.read_text())["explained"]
    return [
        Explanation(
            frozenset(entry["methods"]),
            re.compile(entry.get("http", "")),
            re.compile(entry.get("rpc", "")),
            entry["why"],
        )
        for entry in entries
    ]


def _note(found: Found, difference: Difference, explanations: list[Explanation]) -> None:
    for explanation in explanations:
        if explanation.covers(difference):
            found.explained[explanation.why] += 1
            return
    found.unexplained.append(difference)


def _keys(answer: Any) -> frozenset[str]:
    return frozenset(answer) if isinstance(answer, dict) else frozenset()


def _text(answer: Any) -> str:
    return json.dumps(answer, sort_keys=True, ensure_ascii=False)
