"""Questions of the same few milliseconds, put together into one request."""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Generic, TypeVar

from queue_agent.adapters.cluster.second_chance import Asked, SecondChances
from queue_agent.errors import ClusterError, ClusterUnavailable

Key = TypeVar("Key", bound=Hashable)
Question = TypeVar("Question")
Answer = TypeVar("Answer")

WINDOW_SECONDS = 0.002
"""How long the first question of a batch waits for others while an earlier batch is under way."""

MAX_SIZE = 100
"""Of one batch; the next question starts another."""


class Batcher(Generic[Key, Question, Answer]):
    """Collects questions by key and sends each batch in a task of its own; an async context manager.

    With nothing of its key under way, a batch leaves as soon as all who are ready to ask have asked: one who asks alone
    is not kept waiting.

    Args:
        send: answers a batch, one answer or error for each question in order. What it raises goes to all who asked.
        second_chances: for questions that can keep others from being answered; without it, they do.
    """

    def __init__(
        self,
        send: Callable[[Key, Sequence[Question]], Awaitable[Sequence[Answer | ClusterError]]],
        second_chances: SecondChances | None = None,
    ) -> None:
        self._send = send
        self._second_chances = second_chances
        self._open: dict[Key, _Batch] = {}
        self._under_way: Counter[Key] = Counter()
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
            batch.departure.cancel()
            _fail(batch.questions, closed)
        self._open.clear()
        for task in self._sending:
            task.cancel()
        await self._tasks.__aexit__(None, None, None)

    async def ask(self, key: Key, question: Question) -> Answer:
        """Answer one question; raises its `ClusterError`, or that of the whole batch."""
        future = self._put(key, question)
        try:
            outcome = await future
        finally:
            future.cancel()
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
        asked = Asked(question, loop.create_future())
        if self._second_chances is not None and self._second_chances.is_culprit(question):
            self._depart(key, [asked])
            return asked.future
        batch = self._open.get(key)
        if batch is None:
            if key in self._under_way:
                departure: asyncio.Handle = loop.call_later(WINDOW_SECONDS, self._flush, key)
            else:
                departure = loop.call_soon(self._flush, key)
            batch = self._open[key] = _Batch(departure)
        batch.questions.append(asked)
        if len(batch.questions) >= MAX_SIZE:
            batch.departure.cancel()
            self._flush(key)
        return asked.future

    def _flush(self, key: Key) -> None:
        self._depart(key, self._open.pop(key).questions)

    def _depart(self, key: Key, batch: Sequence[Asked]) -> None:
        self._under_way[key] += 1
        # A batch belongs to nobody: what the first to ask has bound to its log lines is not to be found on others.
        task = self._tasks.create_task(self._answer(key, batch), context=contextvars.Context())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _answer(self, key: Key, batch: Sequence[Asked]) -> None:
        try:
            batch = [asked for asked in batch if not asked.future.done()]
            if self._second_chances is not None and batch:
                await self._second_chances.answer(batch, partial(self._request, key))
            elif batch:
                error = await self._request(key, batch)
                if error is not None:
                    _fail(batch, error)
        except asyncio.CancelledError:
            _fail(batch, ClusterUnavailable("The connection to the cluster was closed"))
            raise
        finally:
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key]

    async def _request(self, key: Key, batch: Sequence[Asked]) -> Exception | None:
        """Send questions as one request and settle them; or what was raised."""
        try:
            outcomes = await self._send(key, [asked.question for asked in batch])
        except Exception as error:  # noqa: BLE001 - handed to everyone who asked: a bug is to crash their passes only
            return error
        for asked, outcome in zip(batch, outcomes, strict=True):
            asked.settle(outcome)
        return None


@dataclass(slots=True)
class _Batch:
    """Questions that wait for others."""

    departure: asyncio.Handle
    questions: list[Asked] = field(default_factory=list)


def _fail(batch: Sequence[Asked], error: Exception) -> None:
    for asked in batch:
        asked.fail(error)
