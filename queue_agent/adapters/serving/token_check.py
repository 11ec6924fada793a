"""Asks clusters whose token it is: a few at a time, and less often for addresses whose tokens were refused."""

from __future__ import annotations

import asyncio
import math
from typing import Final

from queue_agent.adapters.serving.refusals import Refusal, need_login
from queue_agent.core.access.attempts import FailedLogins
from queue_agent.errors import AccessDenied, ActRefused, ClusterError
from queue_agent.ports.acts import CallerDoor, LoginObserver, LoginOutcome
from queue_agent.ports.passes import Clock
from yt_wire.error import ErrorCode
from yt_wire.sparse_log import SparseLog

_CONCURRENT: Final = 4
_MOST_WAITING: Final = 64


class TokenCheck:
    """Finds the users of tokens that people and programs give.

    Args:
        door: asks clusters.
        observer: hears how it ended.
        clock: time of day.
        log: for lines that peers can cause.
    """

    def __init__(self, door: CallerDoor, observer: LoginObserver, clock: Clock, log: SparseLog) -> None:
        self._door = door
        self._observer = observer
        self._clock = clock
        self._log = log
        self._failed = FailedLogins()
        self._turns = asyncio.Semaphore(_CONCURRENT)
        self._waiting = 0

    async def identify(self, cluster: str, token: str, peer: str, *, is_program: bool) -> str:
        """Name of the user whose token this is.

        Args:
            peer: IP address that gave it.
            is_program: whether the token came with a request for something else, which is then refused by 401.

        Raises:
            Refusal: the cluster does not know the token or did not tell, or the address has failed too often.
        """
        wait = self._failed.begin(peer, self._clock.now())
        if wait is not None:
            self._end("limited", cluster, peer)
            seconds = math.ceil(wait.total_seconds())
            raise _try_later(f"Too many logins from {peer} have failed: try again in {seconds} s", seconds)
        try:
            user = await self._ask(cluster, token)
        except AccessDenied as error:
            self._end("refused", cluster, peer)
            if is_program:
                raise need_login(error.message, takes_tokens=True) from error
            raise Refusal(error.message, ErrorCode.AUTHENTICATION, 403) from error
        except (ActRefused, ClusterError) as error:
            self._failed.forgive(peer)
            self._end("unavailable", cluster, peer)
            raise Refusal(f"Cannot log in: {error}", ErrorCode.UNAVAILABLE, 503) from error
        except Refusal:
            self._failed.forgive(peer)
            raise
        self._failed.forgive(peer)
        self._end("accepted", cluster, peer, user=user)
        return user

    async def _ask(self, cluster: str, token: str) -> str:
        if self._waiting >= _MOST_WAITING:
            raise _try_later("Too many people log in at this moment: try again", 1)
        self._waiting += 1
        try:
            async with self._turns:
                return await self._door.identify(cluster, token)
        finally:
            self._waiting -= 1

    def _end(self, outcome: LoginOutcome, cluster: str, peer: str, **fields: str) -> None:
        self._observer.login_ended(outcome)
        self._log.info(f"login {outcome}", cluster=cluster, peer=peer, **fields)


def _try_later(message: str, seconds: int) -> Refusal:
    return Refusal(message, ErrorCode.UNAVAILABLE, 429, headers={"Retry-After": str(seconds)})
