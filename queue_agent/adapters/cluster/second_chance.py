"""Batches that fail or keep everybody waiting: their questions are asked one by one, and the culprits remembered."""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.errors import ClusterError

PATIENCE_SECONDS: Final = 2.0
"""A batch that takes longer is not waited for alone."""

_ALONE_AT_ONCE: Final = 8
_CULPRITS_AT_ONCE: Final = 8
_FAILURES_OF_ALL: Final = 3
_MAX_CULPRITS: Final = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question with the place for its answer."""

    question: Any
    future: asyncio.Future[Any]
    """Done already: whoever asked has the answer, or has given up."""

    def settle(self, outcome: Any) -> None:
        """Give the answer, or the error of this question; the first counts."""
        if not self.future.done():
            self.future.set_result(outcome)

    def fail(self, error: Exception) -> None:
        """Give the error of a whole request."""
        # A copy to raise: one error raised in many tasks would collect the tracebacks of them all.
        self.settle(_own(error) if isinstance(error, ClusterError) else error)


Send = Callable[[Sequence[Asked]], Coroutine[Any, Any, Exception | None]]
"""Sends questions as one request and settles them, or gives the error of the request."""


class SecondChances:
    """Keeps one question that cannot be answered from taking all that travel with it along.

    When a batch fails, or is not answered in time, its questions are asked alone beside it, a few at a time, and the
    first answer counts. A question that got none while others did is a culprit: it travels alone from then on, until it
    is answered in time. When nothing at all is answered, it is the cluster that fails, and nobody is to blame.

    Only for questions that change nothing.

    Args:
        identify: what a question is about; who was a culprit is recognised by it.
        patience: seconds.
    """

    def __init__(self, identify: Callable[[Any], Hashable], patience: float = PATIENCE_SECONDS) -> None:
        self._identify = identify
        self._patience = patience
        self._culprits: dict[Hashable, None] = {}
        self._alone_slots = asyncio.Semaphore(_ALONE_AT_ONCE)
        self._culprit_slots = asyncio.Semaphore(_CULPRITS_AT_ONCE)
        self._down = False
        self._turn = 0

    def is_culprit(self, question: Any) -> bool:
        """Whether the question has to travel alone."""
        return self._identify(question) in self._culprits

    async def answer(self, batch: Sequence[Asked], send: Send) -> None:
        """Settle all questions of a batch."""
        if len(batch) == 1:
            await self._answer_single(batch[0], send)
            return
        async with asyncio.TaskGroup() as group:
            whole = group.create_task(send(batch))
            await asyncio.wait([whole], timeout=self._patience)
            if whole.done() and not isinstance(whole.result(), ClusterError):
                self._settle(batch, whole.result())
                return
            examination = _Examination(self._rotated(batch), send, self._alone_slots, cautious=self._down)
            examining = group.create_task(examination.run())
            await asyncio.wait([whole, examining], return_when=asyncio.FIRST_COMPLETED)
            if whole.done() and whole.result() is None:
                examining.cancel()
            else:
                await asyncio.wait([examining])
                if all(one.future.done() for one in batch):
                    whole.cancel()
                else:
                    await asyncio.wait([whole])
        self._conclude(batch, examination, None if whole.cancelled() else whole.result())

    async def _answer_single(self, one: Asked, send: Send) -> None:
        subject = self._identify(one.question)
        if subject not in self._culprits:
            self._settle([one], await send([one]))
            return
        async with self._culprit_slots:
            if one.future.done():
                return
            clock = asyncio.get_running_loop().time
            started = clock()
            error = await send([one])
            if error is None and clock() - started < self._patience:
                self._culprits.pop(subject, None)
        self._settle([one], error)

    def _settle(self, batch: Sequence[Asked], error: Exception | None) -> None:
        if error is None:
            self._down = False
        else:
            for one in batch:
                one.fail(error)

    def _conclude(self, batch: Sequence[Asked], examination: _Examination, error: Exception | None) -> None:
        self._down = bool(error) and not examination.answered
        if examination.answered:
            for one in examination.unanswered:
                self._culprits[self._identify(one.question)] = None
            for subject in list(self._culprits)[: max(0, len(self._culprits) - _MAX_CULPRITS)]:
                del self._culprits[subject]
        if error is not None:
            for one, own_error in examination.errors:
                one.fail(own_error)
            self._settle(batch, error)

    def _rotated(self, batch: Sequence[Asked]) -> deque[Asked]:
        """Another question comes first each time, so that no culprit stands before all others for ever."""
        self._turn += 1
        result = deque(batch)
        result.rotate(self._turn)
        return result


def _own(error: ClusterError) -> ClusterError:
    result = copy.copy(error)
    result.__cause__ = error
    return result


class _Examination:
    """Asks the questions of one batch alone.

    Args:
        waiting: the questions; emptied.
        send: sends one.
        slots: how many may be under way, those of other batches included.
        cautious: nothing was answered lately, so one question goes first.
    """

    def __init__(self, waiting: deque[Asked], send: Send, slots: asyncio.Semaphore, *, cautious: bool) -> None:
        self._waiting = waiting
        self._send = send
        self._slots = slots
        self._cautious = cautious
        self._under_way: set[Asked] = set()
        self.answered = 0
        self.errors: list[tuple[Asked, Exception]] = []

    @property
    def unanswered(self) -> list[Asked]:
        """Those that were asked, and have no answer."""
        return [*self._under_way, *(one for one, _ in self.errors)]

    async def run(self) -> None:
        """Ask until all have been asked, or it has become clear that nothing is answered."""
        if self._cautious:
            await self._ask_next()
            if not self.answered:
                return
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(self._waiting), _ALONE_AT_ONCE)):
                group.create_task(self._work())

    async def _work(self) -> None:
        while self._waiting and (self.answered or len(self.errors) < _FAILURES_OF_ALL):
            await self._ask_next()

    async def _ask_next(self) -> None:
        one = self._waiting.popleft()
        async with self._slots:
            if one.future.done():
                return
            self._under_way.add(one)
            error = await self._send([one])
        self._under_way.discard(one)
        if error is None:
            self.answered += 1
        else:
            self.errors.append((one, error))
