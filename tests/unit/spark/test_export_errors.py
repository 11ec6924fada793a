"""What is said of errors that came from elsewhere."""

from __future__ import annotations

import os
import signal
from threading import Event

import pytest
from yt.wrapper.errors import YtError, YtResponseError

from queue_agent.spark.errors import ColumnError
from queue_agent.spark.export.errors import ExportError, task_failure, words_of
from queue_agent.spark.export.stopping import stopping

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "pulling.py", line 156, in fetch
    arrays = self._arrays(begin)
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "worker.py", line 3622, in main
    process()
             ^^^
{raised}

 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:665)
"""


def test_of_a_task_it_is_said_what_was_raised_there() -> None:
    raised = "queue_agent.spark.errors.QueueUnavailable: partition 0 gave no row 5: is it mounted?"
    found = task_failure(RuntimeError(WORKER.format(raised=raised)))
    assert type(found) is ExportError
    assert str(found) == "tasks failed: QueueUnavailable: partition 0 gave no row 5: is it mounted?"


def test_what_a_task_would_fail_with_again_is_no_failure_to_be_tried_again() -> None:
    raised = 'queue_agent.spark.errors.ColumnError: column "u" has the value 9223372036854775813'
    found = task_failure(RuntimeError(WORKER.format(raised=raised)))
    assert (type(found), str(found)) == (ColumnError, 'column "u" has the value 9223372036854775813')


def test_of_what_no_task_raised_the_frames_of_java_are_left_out() -> None:
    found = task_failure(RuntimeError("Job aborted: executor 3 is lost\n\tat org.apache.spark.Scheduler.abort(x:1)\n"))
    assert str(found) == "tasks failed: Job aborted: executor 3 is lost"


def test_of_a_cluster_s_error_the_messages_are_said_and_not_the_request() -> None:
    inner = {"code": 500, "message": "Node //home has no child", "attributes": {}, "inner_errors": []}
    outer = {"code": 500, "message": "Error resolving path //home/x", "attributes": {}, "inner_errors": [inner]}
    error = YtResponseError(outer)
    error.message = "Received HTTP response with error"
    error.attributes["params"] = {"path": "//home/x"}
    assert words_of(error) == "Error resolving path //home/x: Node //home has no child"
    assert words_of(YtError("Not so")) == "Not so"
    assert words_of(ValueError("Not so")) == "Not so"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_asks_for_the_end_and_the_second_is_it(number: int) -> None:
    before, stop, said = signal.getsignal(number), Event(), list[str]()
    with stopping(stop, said.append):
        os.kill(os.getpid(), number)
        assert (stop.is_set(), len(said)) == (True, 1)
        with pytest.raises(SystemExit) as found:
            os.kill(os.getpid(), number)
        assert found.value.code == 128 + number
    assert signal.getsignal(number) is before
