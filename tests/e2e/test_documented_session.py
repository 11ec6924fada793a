"""The session in the documentation of the Queue API, typed as it stands there, gives what stands there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from yt import yson

from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.verdicts.queue_poll import without_poll
from queue_agent.core.verdicts.queue_state import Pair, QueueState
from queue_agent.core.verdicts.values import Verdict
from tests.e2e.playground import Playground, eventually

LISTING: Final = Path(__file__).with_name("documented_session.txt")

GUID: Final = re.compile(r"[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+")
INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")

VARYING: Final[Mapping[str, Callable[[Any], object]]] = {
    "trace_id": GUID.fullmatch,
    "span_id": lambda value: value > 0,
    "tid": lambda value: value > 0,
    "fid": lambda value: True,
    "pid": lambda value: value > 0,
    "thread": len,
    "datetime": INSTANT.fullmatch,
    "host": len,
    "queue_agent_host": len,
    "cell_id": GUID.fullmatch,
    "commit_idle_time": lambda value: value > 0,
    # Of the last pass alone, as are the others before their time is over: whoever asks late finds nothing any more.
    **dict.fromkeys(("current", "1m", "1h", "1d"), lambda value: value >= 0),
}
"""Fields whose values differ from one session to the next, and what can still be said of them."""

_NOTHING: Final = without_poll(
    QueueState(Pair(CrossClusterRef("c", "//q"), CrossClusterRef("c", "//c"))), Verdict.UNKNOWN, "", 0.0
).verdict
assert _NOTHING is not None
QUEUE_VERDICT: Final = frozenset(_NOTHING.to_map())
PARTITION_VERDICT: Final = frozenset(_NOTHING.whole.to_map())
ADDED_TO_REGISTRATIONS: Final = frozenset({"verdict", "reason"})
"""Keys of verdicts, beyond the listing."""

ADDED_TO_QUEUES: Final = frozenset({"dead_vital_consumers", "quarantines", "time_to_quota"})
"""What this agent tells of a queue beyond the listing."""

ADDED_TO_PARTITIONS: Final = frozenset({"trim"})
"""What this agent tells of a queue's partition beyond the listing."""

ADDED_TO_FAILED_PARTITIONS: Final = frozenset({"meta"})
"""The same of one that cannot be read."""


@dataclass(frozen=True)
class Step:
    """A command of the listing."""

    comment: str
    command: str
    output: str
    """What the listing shows below it."""

    @property
    def is_awaited(self) -> bool:
        """Whether the answer follows from what the agent does in the background."""
        return "/@queue_" in self.command or "soon" in self.comment


def read_listing(text: str) -> list[Step]:
    """Cut a listing into its commands, each with the comment above and the output below."""
    steps: list[Step] = []
    comment = command = ""
    output: list[str] = []
    for line in [*text.splitlines(), "$ "]:
        if line.startswith(("$ ", "# ")) and command:
            steps.append(Step(comment, command, "\n".join(output).strip()))
            comment = command = ""
            output = []
        if line.startswith("# "):
            comment += line
        elif line.startswith("$ "):
            command = line.removeprefix("$ ")
        elif line.startswith("'"):  # in the listing, a quotation mark has slipped from the end of a command
            command += "'"
            output.append(line.removeprefix("'"))
        else:
            output.append(line)
    return steps


def _added_to(expected: Mapping[str, Any]) -> frozenset[str]:
    if expected.keys() == {"error"}:
        return ADDED_TO_FAILED_PARTITIONS | QUEUE_VERDICT
    if "lower_row_index" in expected:
        return ADDED_TO_PARTITIONS
    if "consumer" in expected:
        return ADDED_TO_REGISTRATIONS
    if "next_row_index" in expected:
        return PARTITION_VERDICT
    if "family" in expected:
        return ADDED_TO_QUEUES
    return QUEUE_VERDICT if "read_row_count_rate" in expected else frozenset()


class Comparison:
    """Compares outputs with documented ones, field by field.

    Keys and types must be the same at every depth, and so must values, save those that differ by nature.
    """

    def __init__(self) -> None:
        self._timestamps: dict[int, int] = {}

    def compare(self, expected: Any, actual: Any) -> None:
        """AssertionError names the field in which the outputs differ; it is then as if they had not been compared."""
        known = dict(self._timestamps)
        try:
            self._compare(expected, actual, "")
        except AssertionError:
            self._timestamps = known
            raise

    def _compare(self, expected: Any, actual: Any, key: str) -> None:
        assert type(actual) is type(expected), f"{key}: {actual!r}"
        assert actual.attributes.keys() == expected.attributes.keys(), key
        for name, value in expected.attributes.items():
            self._compare(value, actual.attributes[name], name)
        if isinstance(expected, yson.YsonMap):
            if "verdict" in actual:  # progress of a consumer, beside what the documented agent says (docs/verdicts.md)
                assert actual.keys() >= expected.keys(), key
            else:
                assert actual.keys() - _added_to(expected) == expected.keys(), key
            for name, value in expected.items():
                self._compare(value, actual[name], name)
        elif isinstance(expected, yson.YsonList):
            assert len(actual) == len(expected), key
            for one, other in zip(expected, actual, strict=True):
                self._compare(one, other, key)
        elif key == "$timestamp":
            self._compare_timestamp(int(expected), int(actual))
        elif key in VARYING:
            assert VARYING[key](actual), f"{key}: {actual!r}"
        elif isinstance(expected, yson.YsonDouble):
            assert (actual > 0) is (expected > 0), f"{key}: {actual!r}"
        elif isinstance(expected, yson.YsonUnicode):
            assert GUID.sub("ID", actual) == GUID.sub("ID", expected), key
        else:
            assert actual == expected, f"{key}: {actual!r}"

    def _compare_timestamp(self, expected: int, actual: int) -> None:
        """Rows written together share one, and those written later have a greater one."""
        assert self._timestamps.setdefault(expected, actual) == actual
        in_order = [self._timestamps[timestamp] for timestamp in sorted(self._timestamps)]
        assert in_order == sorted(set(in_order))


def parse(text: str) -> yson.YsonList:
    """A documented or real output, which may be several values, as a list of typed values with attributes."""
    values = yson.loads(text.encode(), yson_type="list_fragment", always_create_attributes=True)
    return yson.to_yson_type(list(values))


def expected_output(step: Step) -> str:
    if " create " in step.command:  # of four of these, the listing shows the id of two
        return GUID.pattern
    if "@queue_consumer_status" in step.command and "queue_agent_host" not in step.output:
        # The service publishes it always; the listing, which shows it in one place, was shortened in the other.
        return re.sub(r"\{", '{"queue_agent_host" = "yt-queue-agent-1.ytsaurus.tech";', step.output, count=1)
    return step.output


def take(step: Step, playground: Playground, comparison: Comparison) -> None:
    """Type the command and look at its output."""
    result = playground.shell(step.command)
    assert result.returncode == 0, f"{step.command}\n{result.stderr}"
    expected = expected_output(step)
    if expected == GUID.pattern:
        assert GUID.fullmatch(result.stdout.strip()), f"{step.command}\n{result.stdout}"
        return
    try:
        comparison.compare(parse(expected), parse(result.stdout))
    except AssertionError as error:
        error.add_note(f"{step.command}\n{result.stdout}")
        raise


@pytest.mark.slow  # each of its commands takes two processes
def test_every_command_of_the_documented_session_answers_as_documented(playground: Playground) -> None:
    comparison = Comparison()
    steps = read_listing(LISTING.read_text())
    assert len(steps) == 24
    for step in steps:
        if "OR:" in step.comment:  # another way to do what has been done
            step = Step(step.comment, step.command.replace("test-consumer", "other-consumer"), step.output)
        if step.is_awaited:
            eventually(partial(take, step, playground, comparison), pause=1)  # each takes two processes
        else:
            take(step, playground, comparison)
    session = "--queue-path //tmp/$USER-test-queue --producer-path //tmp/$USER-test-producer --session-id session_123"
    again = playground.shell(f"yt --proxy pythia create-queue-producer-session {session}")
    assert parse(again.stdout)[0] == {"epoch": 1, "sequence_number": 10, "user_meta": None}


def test_the_comparison_sees_what_is_missing_extra_or_of_another_type() -> None:
    documented = parse('{"a" = [{"thread" = "Controller:1"; "b" = 1.; "c" = <"x" = 1>"y"}]}')
    Comparison().compare(documented, parse('{"a" = [{"thread" = "x"; "b" = 0.5; "c" = <"x" = 1>"y"}]}'))
    for other in (
        '{"a" = [{"thread" = "x"; "b" = 0.5}]}',
        '{"a" = [{"thread" = "x"; "b" = 0.5; "c" = <"x" = 1>"y"; "d" = #}]}',
        '{"a" = [{"thread" = "x"; "b" = 1; "c" = <"x" = 1>"y"}]}',
        '{"a" = [{"thread" = "x"; "b" = 0.; "c" = <"x" = 1>"y"}]}',
        '{"a" = [{"thread" = "x"; "b" = 0.5; "c" = <"x" = 1u>"y"}]}',
        '{"a" = [{"thread" = "x"; "b" = 0.5; "c" = "y"}]}',
        '{"a" = [{"thread" = ""; "b" = 0.5; "c" = <"x" = 1>"y"}]}',
        '{"a" = [{"thread" = <"x" = 1>"x"; "b" = 0.5; "c" = <"x" = 1>"y"}]}',
        '{"a" = []}',
    ):
        with pytest.raises(AssertionError):
            Comparison().compare(documented, parse(other))
