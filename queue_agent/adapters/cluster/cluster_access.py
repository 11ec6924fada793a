"""What the configuration says about reaching a cluster: address, certificates, token."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from multidict import CIMultiDict
from yarl import URL

from queue_agent.adapters.cluster.trailer_http import HttpAnswer
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ClusterError, ConfigError


class Credential(Protocol):
    """Says to a cluster who asks."""

    def headers(self) -> Mapping[str, str]:
        """Of every request; ClusterError if there is none to be had."""
        ...

    def clean(self, answer: HttpAnswer) -> HttpAnswer:
        """An answer without what must not get into errors and logs."""
        ...


class TokenFile:
    """A token that is read again when its file has changed."""

    def __init__(self, cluster: str, path: Path) -> None:
        self._cluster = cluster
        self._path = path
        self._stamp: tuple[int, int, int] | None = None
        self._token = ""

    def read(self) -> str:
        """The token; ClusterError if there is none to be had."""
        try:
            stat = self._path.stat()
            stamp = stat.st_ino, stat.st_mtime_ns, stat.st_size
            if stamp != self._stamp:
                self._token = self._path.read_text(encoding="utf-8").strip()
                self._stamp = stamp
        except (OSError, UnicodeDecodeError) as error:
            raise ClusterError(f"Token of cluster {self._cluster} cannot be read: {error}") from error
        return self._token


class AgentCredential:
    """The agent itself; or, if the agent may speak for others, somebody in whose name it speaks.

    Args:
        cluster, config: whose token it is.
        user: in whose name; the cluster refuses that unless the agent is a superuser.
    """

    def __init__(self, cluster: str, config: ClusterConfig, user: str | None = None) -> None:
        self._file = TokenFile(cluster, config.token_file) if config.token_file else None
        self._name = {} if user is None else {USER_NAME: user}

    def headers(self) -> Mapping[str, str]:
        return self._name if self._file is None else {"Authorization": f"OAuth {self._file.read()}", **self._name}

    def clean(self, answer: HttpAnswer) -> HttpAnswer:
        return answer if self._file is None else without_secret(answer, self._file.read())


@dataclass(frozen=True, slots=True)
class CallerToken:
    """Somebody who has given their token; it shows up nowhere but in requests to the cluster."""

    token: str = field(repr=False)

    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"OAuth {self.token}"}

    def clean(self, answer: HttpAnswer) -> HttpAnswer:
        return without_secret(answer, self.token)


USER_NAME = "X-YT-User-Name"
"""Of whom a superuser wants to be taken for."""

_HIDDEN = "<token>"
_LEAST_SECRET = 8
"""Characters. What is shorter is no secret, and may be a word of any error."""


def without_secret(answer: HttpAnswer, secret: str) -> HttpAnswer:
    """An answer that does not repeat a secret: some proxies quote the header that they do not understand."""
    if len(secret) < _LEAST_SECRET:
        return answer
    body = answer.body.replace(secret.encode(), _HIDDEN.encode())
    if not any(secret in value for value in answer.headers.values()):
        return replace(answer, body=body)
    headers = CIMultiDict((name, value.replace(secret, _HIDDEN)) for name, value in answer.headers.items())
    return replace(answer, body=body, headers=headers)


def proxy_origin(cluster: str, proxy: str) -> URL:
    """Scheme, host and port of a proxy; ConfigError if the address is not one."""
    try:
        url = URL(proxy if "://" in proxy else f"http://{proxy}").origin()
    except ValueError as error:
        raise ConfigError(f"Proxy address {proxy!r} of cluster {cluster} is not valid: {error}") from error
    if url.scheme not in ("http", "https"):
        raise ConfigError(f"Proxy address {proxy!r} of cluster {cluster} is neither HTTP nor HTTPS")
    return url


def tls_context(cluster: str, config: ClusterConfig) -> ssl.SSLContext:
    """Whom to trust for HTTPS; ConfigError if the file of authorities cannot be used."""
    try:
        return ssl.create_default_context(cafile=config.ca_file)
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"CA file {config.ca_file} of cluster {cluster} cannot be used: {error}") from error
