"""What becomes of every request, whichever proxy it comes by: it is logged, and faults befall it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from yt_local.base.faults import Fault
from yt_local.base.request_log import LoggedRequest
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.error import YtError


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request under way."""

    logged: LoggedRequest
    """For what only the proxy knows of the answer."""

    fault: Fault | None
    """What is to befall the connection."""


@contextmanager
def enveloped(
    cluster: Cluster, session: Session, name: str, parameters: Mapping[str, Any], hang_up: type[Exception]
) -> Iterator[Envelope]:
    """Note a request from its beginning to its end.

    Args:
        cluster: who is asked.
        session: who asks.
        name: of the command.
        parameters: of the command.
        hang_up: raised in place of an answer by a cluster that is off.
    """
    logged = cluster.requests.add(session.access.user, name, parameters)
    fault = cluster.faults.take_connection_fault(name, parameters)
    if fault is not None:
        logged.fault = fault.effect.kind
    try:
        yield Envelope(logged, fault)
    except YtError as error:
        logged.error_code = error.code
        raise
    finally:
        logged.finished = time.monotonic()
    if cluster.faults.is_off:
        raise hang_up
