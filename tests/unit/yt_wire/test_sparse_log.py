from __future__ import annotations

from typing import Any

from yt_wire.sparse_log import SparseLog


class Lines:
    """A logger that keeps its lines."""

    def __init__(self) -> None:
        self.written: list[tuple[str, dict[str, Any]]] = []

    def info(self, event: str, **fields: Any) -> None:
        self.written.append((event, fields))

    exception = info


def test_one_line_of_a_kind_is_written_in_an_interval_and_the_next_says_how_many_were_not() -> None:
    now = 0.0
    lines = Lines()
    log = SparseLog(lines, interval=10, clock=lambda: now)
    for peer in range(1000):
        log.info("left", peer=peer)
        log.exception("crashed")
    assert lines.written == [("left", {"peer": 0}), ("crashed", {})]
    now = 10.0
    log.info("left", peer=7)
    assert lines.written[2:] == [("left", {"peer": 7, "suppressed": 999})]


def test_what_was_left_out_is_told_even_if_nothing_more_happens() -> None:
    now = 0.0
    lines = Lines()
    log = SparseLog(lines, interval=10, clock=lambda: now)
    log.info("left")
    log.info("left")
    log.flush()
    assert len(lines.written) == 1
    now = 11.0
    log.flush()
    log.flush()
    assert lines.written[1:] == [("left", {"suppressed": 1})]
