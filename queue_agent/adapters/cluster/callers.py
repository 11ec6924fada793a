"""Callers: people who have logged in, and clusters as they see them, with their own rights and no others."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from queue_agent.adapters.cluster.cluster_access import AgentCredential, CallerToken, Credential
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.config.clusters import ClusterConfig
from queue_agent.core.access.sessions import Login
from queue_agent.errors import AccessDenied, ClusterError
from queue_agent.ports.acts import ActingCluster
from yt_wire.error import ErrorCode

_KNOWN_SECONDS: Final = 300.0
_MOST_KNOWN: Final = 10_000
_LONGEST_NAME: Final = 128


class Callers:
    """`ports.CallerDoor`.

    Args:
        configs: how to reach clusters; the agent's own tokens are not used for callers who have theirs.
        trust_clusters_without_tokens: see the configuration.
    """

    def __init__(self, configs: Mapping[str, ClusterConfig], *, trust_clusters_without_tokens: bool) -> None:
        self._configs = configs
        self._trust = trust_clusters_without_tokens
        self._known: dict[tuple[str, str], float] = {}

    async def identify(self, cluster: str, token: str) -> str:
        """Name of the user whose token this is; see the port."""
        if not self._trust and await self._ask(cluster, CallerToken(secrets.token_hex(20))) is not None:
            raise AccessDenied(
                f"Cluster {cluster} takes any token, so a token does not prove who you are; only the option"
                " console.trust_clusters_without_tokens allows a login there",
                ErrorCode.AUTHENTICATION,
            )
        user = await self._ask(cluster, CallerToken(token))
        if user is None or len(user) > _LONGEST_NAME or token in user:
            raise AccessDenied(f"Cluster {cluster} does not know this token", ErrorCode.AUTHENTICATION)
        return user

    def of_tokens(self, logins: Mapping[str, Login[str]], peer: str, session: str) -> TokenCaller:
        """Somebody who has given a token for each of some clusters."""
        return TokenCaller(self._configs, logins, peer, session)

    def of_name(self, user: str, peer: str) -> NamedCaller:
        """Somebody whom a proxy has named."""
        return NamedCaller(self, user, peer)

    async def check_name(self, cluster: str, user: str) -> None:
        """AccessDenied unless the cluster takes requests that the agent sends in somebody's name for theirs.

        One that passed the name over would take them for the agent's own, with all its rights.
        """
        now = asyncio.get_running_loop().time()
        if self._known.get((cluster, user), float("-inf")) >= now - _KNOWN_SECONDS:
            return
        config = self.config(cluster)
        found = await self._ask(cluster, AgentCredential(cluster, config, user))
        if found != user:
            raise AccessDenied(
                f"Cluster {cluster} does not let the agent act in the name of {user}: the user must exist, and the"
                " agent's own must be a superuser",
                ErrorCode.AUTHORIZATION,
            )
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[cluster, user] = now

    def config(self, cluster: str) -> ClusterConfig:
        """ClusterError for a cluster that the agent does not know."""
        return _config(self._configs, cluster)

    async def _ask(self, cluster: str, credential: Credential) -> str | None:
        async with YtCluster(cluster, self.config(cluster), credential=credential) as client:
            try:
                return await client.find_user()
            except AccessDenied:
                return None


@dataclass(frozen=True, slots=True)
class TokenCaller:
    """`ports.Caller` with tokens of their own."""

    configs: Mapping[str, ClusterConfig]
    logins: Mapping[str, Login[str]] = field(repr=False)
    peer: str
    session: str
    login: str = "token"

    @property
    def user(self) -> str:
        return next(iter(self.logins.values())).user

    def user_at(self, cluster: str) -> str:
        return self._login(cluster).user

    @asynccontextmanager
    async def clusters(self, names: Collection[str]) -> AsyncIterator[Mapping[str, ActingCluster]]:
        credentials = {name: CallerToken(self._login(name).credential) for name in names}
        async with _opened(self.configs, credentials) as clusters:
            yield clusters

    def _login(self, cluster: str) -> Login[str]:
        _config(self.configs, cluster)
        if cluster not in self.logins:
            raise AccessDenied(
                f"You are not logged in to cluster {cluster}: log in with a token of that cluster",
                ErrorCode.AUTHENTICATION,
            )
        return self.logins[cluster]


@dataclass(frozen=True, slots=True)
class NamedCaller:
    """`ports.Caller` in whose name the agent speaks."""

    callers: Callers = field(repr=False)
    user: str
    peer: str
    login: str = "header"

    @property
    def session(self) -> str:
        return f"header:{self.user}"

    def user_at(self, cluster: str) -> str:
        return self.user

    @asynccontextmanager
    async def clusters(self, names: Collection[str]) -> AsyncIterator[Mapping[str, ActingCluster]]:
        configs = {name: self.callers.config(name) for name in names}
        for name in names:
            await self.callers.check_name(name, self.user)
        credentials = {name: AgentCredential(name, config, self.user) for name, config in configs.items()}
        async with _opened(configs, credentials) as clusters:
            yield clusters


def _config(configs: Mapping[str, ClusterConfig], cluster: str) -> ClusterConfig:
    config = configs.get(cluster)
    if config is None:
        raise ClusterError(f'Cluster "{cluster[:100]}" is not known to this queue agent')
    return config


@asynccontextmanager
async def _opened(
    configs: Mapping[str, ClusterConfig], credentials: Mapping[str, Credential]
) -> AsyncIterator[Mapping[str, ActingCluster]]:
    async with AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(YtCluster(name, configs[name], credential=credential))
            for name, credential in credentials.items()
        }
