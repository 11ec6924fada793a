"""Who may see what on the HTTP port, and what people may have done from there."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from queue_agent.config.options import ConfigModel, Duration
from queue_agent.core.access.acts import ActKind
from yt_wire.http_guard import origin_name


class ProxyHeaderConfig(ConfigModel):
    """A proxy in front of the agent that has people log in, by OIDC for example, and tells who they are."""

    name: str = Field(default="X-Forwarded-User", pattern=r"^[A-Za-z0-9-]{1,64}$")
    """Header with the name of the user on the clusters. The proxy must remove it from requests of others."""

    peers: tuple[IPv4Network | IPv6Network, ...] = Field(min_length=1)
    """Networks of the proxies, such as `10.0.3.7/32`: from everybody else the header counts for nothing."""


class ConsoleConfig(ConfigModel):
    """Who may see what on the HTTP port, and what people may have done from there."""

    anonymous: Literal["status", "health"] = "status"
    """What is shown without a login: `status`: everything but rows; `health`: only health, metrics and the empty
    pages."""

    login: Literal["none", "token", "header"] = "none"
    """How people log in: `token`: with their YTsaurus token, which a cluster checks; `header`: a proxy in front of the
    agent says who they are, see `header`. `none`: not at all."""

    header: ProxyHeaderConfig | None = None
    """The proxy; needed with `login: header`. The agent's user must be a superuser of the clusters: it acts in the name
    of whom the proxy names."""

    trust_clusters_without_tokens: bool = False
    """Let people log in where the cluster takes any token for that of root. Only for clusters that are a playground."""

    rows: bool = False
    """Let those who have logged in look at rows that they may read."""

    acts: tuple[ActKind, ...] = ()
    """What those who have logged in may have done, with their own rights; nothing by default."""

    origins: tuple[str, ...] = ()
    """Addresses of the console in browsers, such as `https://console.example.com`, if a proxy gives requests another
    `Host`. Pages of the agent itself may always act."""

    proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    """Networks of proxies in front of the agent, such as `10.0.3.7/32`. If a request comes from there, the limit of
    failed logins and the audit journal use the address that the proxy adds to `X-Forwarded-For`."""

    session_lifetime: Duration = timedelta(hours=8)
    """After which people have to log in again."""

    session_idle: Duration = timedelta(hours=1)
    """The same, if no page asks anything for so long."""

    max_sessions: int = Field(default=500, ge=1)
    """Sessions at a time."""

    max_sessions_per_user: int = Field(default=10, ge=1)
    """Of one user; the one that was used least recently ends for a new one."""

    recheck_period: Duration = timedelta(minutes=5)
    """How often a cluster is asked again whether the token of a session is still valid."""

    @field_validator("origins")
    @classmethod
    def _are_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(origin_name(origin) for origin in origins)

    @field_validator("proxies")
    @classmethod
    def _are_some(cls, proxies: tuple[IPv4Network | IPv6Network, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
        if any(network.prefixlen == 0 for network in proxies):
            raise ValueError("not everybody can be a proxy: each could then choose the address that counts")
        return proxies

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.header is not None) != (self.login == "header"):
            raise ValueError("header and login: header belong together")
        if self.login == "none" and (self.rows or self.acts):
            raise ValueError("rows and acts need a login")
        if self.login == "none" and self.anonymous == "health":
            raise ValueError("anonymous: health without a login would show status to nobody: say a login")
        return self
