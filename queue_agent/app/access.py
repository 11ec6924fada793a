"""Where people are served who have logged in, put together."""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack
from typing import Final

from queue_agent.adapters.cluster.callers import Callers
from queue_agent.adapters.serving.access import AccessControl, ConsoleFacts
from queue_agent.adapters.serving.console_api import Counter
from queue_agent.adapters.serving.token_check import TokenCheck
from queue_agent.adapters.state.audit_table import AuditTable
from queue_agent.app.parts import Entrance, Ground, Links
from queue_agent.config.agent import AgentConfig
from queue_agent.controllers.acts.desk import ActDesk, Office
from queue_agent.controllers.acts.rows import RowViewer
from queue_agent.ports.acts import LoginObserver
from yt_wire.scope import TaskScope

_HTTPS: Final = "https://"


async def open_counter(
    stack: AsyncExitStack, ground: Ground, entrance: Entrance, links: Links, observer: LoginObserver
) -> Counter:
    """What answers about sessions, rows and acts; acts under way end with the stack."""
    config = ground.config
    console = config.console
    scope = await stack.enter_async_context(TaskScope())
    door = Callers(config.clusters, trust_clusters_without_tokens=console.trust_clusters_without_tokens)
    facts = ConsoleFacts(
        stage=config.stage,
        agent=config.address(entrance.rpc_port),
        clusters=tuple(config.clusters),
        home=config.state.cluster,
        is_secure=_is_secure(config),
    )
    check = TokenCheck(door, observer, ground.clock, entrance.gate.log)
    access = AccessControl(console, door, facts, check, ground.clock)
    office = Office(frozenset(console.acts), config.host, config.state.cluster, config.state.root)
    audit = AuditTable(links.state, config.state.root)
    desk = ActDesk(office, audit, ground.clock, scope, secrets.token_urlsafe)
    return Counter(access, RowViewer() if console.rows else None, desk)


def _is_secure(config: AgentConfig) -> bool:
    """Whether browsers can only reach the console by HTTPS, so that they may keep the cookie from all else."""
    origins = config.console.origins
    return config.http.tls is not None or (bool(origins) and all(origin.startswith(_HTTPS) for origin in origins))
