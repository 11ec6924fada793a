"""Questions of the same few milliseconds, put together into one request."""

from __future__ import annotations

import asyncio
import contextvars
import copy
from collections.abc import Awaitable, Callable, Hashable, Sequence
from types import TracebackType
from typing import Generic, TypeVar

from queue_agent.errors import ClusterError, ClusterUnavailable

Key = TypeVar("Key", bound=Hashable)
Question = TypeVar("Question")
Answer = TypeVar("Answer")

WINDOW_SECONDS = 0.002
"""How long the first question of a batch waits for others."""

MAX_SIZE = 100
"""Of one batch; the next question starts another."""


class Batcher(Generic[Key, Question, Answer]):
    """Collects questions by key and sends each batch in a task of its own; an async context manager.

    Args:
        send: answers a batch, one answer or error for each question in order. What it raises goes to all who asked.
    """

    def __init__(self, send: Callable[[Key, Sequence[Question]], Awaitable[Sequence[Answer | ClusterError]]]) -> None:
        self._send = send
        self._open: dict[Key, _Batch[Question, Answer]] = {}
        self._tasks = asyncio.TaskGroup()
        self._sending: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Batcher[Key, Question, Answer]:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        closed = ClusterUnavailable("The connection to the cluster was closed")
        for batch in self._open.values():
            batch.timer.cancel()
            batch.fail(closed)
        self._open.clear()
        for task in self._sending:
            task.cancel()
        await self._tasks.__aexit__(None, None, None)

    async def ask(self, key: Key, question: Question) -> Answer:
        """Answer one question; raises its `ClusterError`, or that of the whole batch."""
        [outcome] = await self.ask_all(key, [question])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def ask_all(self, key: Key, questions: Sequence[Question]) -> list[Answer | Exception]:
        """Answers in order of the questions; those that failed have their error in its place."""
        futures = [self._put(key, question) for question in questions]
        try:
            return [await future for future in futures]
        finally:
            for future in futures:
                future.cancel()

    def _put(self, key: Key, question: Question) -> asyncio.Future[Answer | Exception]:
        loop = asyncio.get_running_loop()
        batch = self._open.get(key)
        if batch is None:
            batch = self._open[key] = _Batch(loop.call_later(WINDOW_SECONDS, self._flush, key))
        future: asyncio.Future[Answer | Exception] = loop.create_future()
        batch.questions.append((question, future))
        if len(batch.questions) >= MAX_SIZE:
            batch.timer.cancel()
            self._flush(key)
        return future

    def _flush(self, key: Key) -> None:
        batch = self._open.pop(key)
        # A batch belongs to nobody: what the first to ask has bound to its log lines is not to be found on others.
        task = self._tasks.create_task(self._answer(key, batch), context=contextvars.Context())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _answer(self, key: Key, batch: _Batch[Question, Answer]) -> None:
        batch.questions = [(question, future) for question, future in batch.questions if not future.done()]
        if not batch.questions:
            return
        try:
            outcomes = await self._send(key, [question for question, _ in batch.questions])
        except asyncio.CancelledError:
            batch.fail(ClusterUnavailable("The connection to the cluster was closed"))
            raise
        except Exception as error:  # noqa: BLE001 - handed to everyone who asked: a bug is to crash their passes only
            batch.fail(error)
            return
        for (_, future), outcome in zip(batch.questions, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)


class _Batch(Generic[Question, Answer]):
    """Questions not sent yet, or not answered."""

    def __init__(self, timer: asyncio.TimerHandle) -> None:
        self.timer = timer
        self.questions: list[tuple[Question, asyncio.Future[Answer | Exception]]] = []

    def fail(self, error: Exception) -> None:
        for _, future in self.questions:
            if not future.done():
                future.set_result(_own(error) if isinstance(error, ClusterError) else error)


def _own(error: ClusterError) -> ClusterError:
    """A copy to raise: one error raised in many tasks would collect the tracebacks of them all."""
    result = copy.copy(error)
    result.__cause__ = error
    return result
