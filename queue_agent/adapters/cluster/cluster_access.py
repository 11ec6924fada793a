"""What the configuration says about reaching a cluster: address, certificates, token."""

from __future__ import annotations

import ssl
from pathlib import Path

from yarl import URL

from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ClusterError, ConfigError


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
            raise ClusterError(f"Token of cluster {self._cluster} can not be read: {error}") from error
        return self._token


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
    """Whom to trust for HTTPS; ConfigError if the file of authorities can not be used."""
    try:
        return ssl.create_default_context(cafile=config.ca_file)
    except OSError as error:  # ssl.SSLError is one
        raise ConfigError(f"CA file {config.ca_file} of cluster {cluster} can not be used: {error}") from error
