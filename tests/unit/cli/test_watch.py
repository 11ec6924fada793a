"""`queue-agent watch` in a real pseudo-terminal: keys, narrow screens, hostile names, agents and terminals that end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from rich.cells import cell_len

from tests.unit.cli.stand_in_agent import StandInAgent
from tests.unit.cli.terminal import watching
from tests.waiting import LIMIT_SECONDS

UP, DOWN, ENTER, ESCAPE = "\x1b[A", "\x1b[B", "\r", "\x1b"
LEAVES = "\x1b[?1049l"
ODD = ["//home/\x1b[2J\x1b]0;owned\x07", "//home/\u202erow", "//home/" + "a" * 4096, "//home/[bold]x"]


def position(verdict: str, unread: int, lag: int, reason: str | None = None) -> dict[str, Any]:
    return {
        "queue": "hume://home/q",
        "vital": True,
        "verdict": verdict,
        "reason": reason,
        "action": "restart the reader" if reason else None,
        "error": None,
        "partition_count": 1,
        "failed_partition_count": 0,
        "unread_row_count": unread,
        "processing_lag": lag,
    }


def summary(path: str, overview: Any) -> dict[str, Any]:
    return {
        "cluster": "hume",
        "path": path,
        "role": "leading",
        "pass_index": 7,
        "pass_instant": "2026-01-01T00:00:00Z",
        "error": None,
        "overview": overview,
    }


def documents() -> dict[str, Any]:
    consumers = {"a": ("ok", 3, 1000), "b": ("catching_up", 900, 2000), "c": ("stopped", 40, 9000)}
    one = summary("//home/c", None)
    ok = {"vital": True, "verdict": "ok", "reason": None}
    registrations = [{"consumer": f"hume://home/{name}", **ok} for name in consumers]
    rates = {"1m": 0.0, "1h": 0.0, "1d": 0.0}
    return {
        "/orchid/service": {"version": "1", "start_time": "2026-01-01T00:00:00Z"},
        "/health/ready": {},
        "/orchid/alerts": {},
        "/orchid/queue_agent/queues": [],
        "/orchid/queue_agent/consumers": [],
        "/api/v1/queues": {"queues": [summary("//home/q", {"row_count": 12345})], "next": None},
        "/api/v1/consumers": {
            "consumers": [
                summary(f"//home/{name}", [position(*values, "Silent for 9 s" if name == "c" else None)])
                for name, values in consumers.items()
            ],
            "next": None,
        },
        "/api/v1/queues/hume/home%2Fq": {
            **summary("//home/q", None),
            "status": {"registrations": registrations, "write_row_count_rate": rates, "write_data_weight_rate": rates},
            "partitions": [],
        },
        "/api/v1/consumers/hume/home%2Fc": {
            **one,
            "status": {"queues": {"hume://home/q": {}}, "registrations": [{"queue": "hume://home/q", "vital": True}]},
            "partitions": {},
        },
    }


@pytest.fixture
def agent() -> Iterator[StandInAgent]:
    with StandInAgent(documents()).running() as agent:
        yield agent


def order(screen: str) -> list[str]:
    """Paths of rows from the top."""
    return [word for line in screen.splitlines() for word in line.split() if word.startswith("hume://home/")]


def first(screen: str) -> str:
    return next(iter(order(screen)), "")


def test_keys_sort_filter_open_and_quit(agent: StandInAgent) -> None:
    with watching("--agent", agent.address) as terminal:
        screen = terminal.wait_for(
            "order: worst first", "1 of 4 have problems", "Silent for 9 s. Do: restart the reader"
        )
        assert first(screen) == "hume://home/c"
        terminal.press("s")
        assert first(terminal.wait_for("order: name")) == "hume://home/a"
        terminal.press("s")
        terminal.wait(lambda seen: "order: rows" in seen and first(seen) == "hume://home/q")
        terminal.press("s")
        terminal.wait(lambda seen: "order: lag" in seen and first(seen) == "hume://home/c")
        terminal.press("p")
        terminal.wait_for("problems only", "hume://home/c", without=["hume://home/a "])
        terminal.press("p/catch")
        terminal.wait_for("/catch_", "hume://home/b", without=["hume://home/c"])
        terminal.press(ENTER)
        terminal.wait_for("/catch", without=["/catch_"])
        terminal.press(ESCAPE)
        terminal.wait_for("hume://home/c", without=["/catch"])
        terminal.press("?")
        terminal.wait_for("sort by the next")
        terminal.press("x")
        terminal.wait_for("hume://home/c", without=["sort by the next"])
        terminal.press("q")
        assert terminal.end() == 0
    assert LEAVES in terminal.output


def test_a_queue_is_opened_and_from_it_a_consumer(agent: StandInAgent) -> None:
    with watching("--agent", agent.address) as terminal:
        terminal.wait_for("hume://home/q")
        terminal.press("/fine" + ENTER + ENTER)
        terminal.wait_for("queue hume://home/q", "[3] hume://home/c")
        terminal.press("3")
        terminal.wait_for("consumer hume://home/c", "[1] hume://home/q")
        terminal.press(ESCAPE)
        terminal.wait_for("queue hume://home/q")
        terminal.press(ESCAPE)
        terminal.wait_for("/fine", without=["[3]"])
        terminal.press("\x03")
        assert terminal.end() == 0


def test_the_selection_moves_and_its_problem_is_told(agent: StandInAgent) -> None:
    with watching("--agent", agent.address) as terminal:
        terminal.wait_for("Silent for 9 s")
        terminal.press(DOWN)
        terminal.wait_for("hume://home/c", without=["Silent for 9 s"])
        terminal.press(UP)
        terminal.wait_for("Silent for 9 s")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 0
    assert LEAVES in terminal.output


@pytest.mark.slow
def test_an_agent_that_dies_leaves_what_was_seen_and_is_told(agent: StandInAgent) -> None:
    with watching("--agent", agent.address) as terminal:
        terminal.wait_for("hume://home/c")
        agent.documents.pop("/orchid/alerts")
        terminal.wait_for("hume://home/c", "no such object")
        agent.documents["/orchid/alerts"] = {}
        terminal.wait_for("1 of 4 have problems", without=["no such object"])
        agent.is_silent.set()
        terminal.press("s")  # keys work while the agent says nothing
        terminal.wait_for("order: name", "hume://home/c")
        terminal.press("q")
        assert terminal.end() == 0
    assert "Traceback" not in terminal.output


def test_names_of_strangers_send_nothing_to_the_terminal(agent: StandInAgent) -> None:
    listed = [summary(path, {"row_count": 1}) for path in ODD]
    agent.documents["/api/v1/queues"] = {"queues": listed, "next": None}
    with watching("--agent", agent.address, columns=60) as terminal:
        screen = terminal.wait_for("\\x1b[2J", "\\u202erow", "[bold]x", "aaa")
        assert all(cell_len(line) <= 60 for line in screen.splitlines())
        terminal.press("q")
        assert terminal.end() == 0
    assert not any(odd in terminal.output for odd in ("\x1b[2J\x1b]0", "\x1b]0;owned", "\u202e", "a" * 600))


def test_a_terminal_of_20_columns_shows_states_and_names(agent: StandInAgent) -> None:
    with watching("--agent", agent.address, columns=20, lines=6) as terminal:
        screen = terminal.wait_for("stopped", "hume://")
        assert all(cell_len(line) <= 20 for line in screen.splitlines())
        terminal.resize(120, 30)
        terminal.wait_for("hume://home/c of hume://home/q")
        terminal.resize(1, 1)
        terminal.resize(120, 30)
        terminal.wait_for("hume://home/c of hume://home/q")
        terminal.press("q")
        assert terminal.end() == 0


def test_a_terminal_that_is_closed_ends_it_without_a_word(agent: StandInAgent) -> None:
    with watching("--agent", agent.address) as terminal:
        terminal.wait_for("hume://home/c")
        terminal.hang_up()
        assert terminal.process.wait(LIMIT_SECONDS) in (0, -signal.SIGHUP)
