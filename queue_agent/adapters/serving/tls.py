"""TLS of the agent's own HTTP port: certificates are read again when their files change."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import structlog

from queue_agent.config.serving import TlsConfig
from queue_agent.errors import ConfigError

log = structlog.get_logger(__name__)

_Stamp: TypeAlias = Sequence[tuple[int, int, int]]


class ServerTls:
    """Contexts for connections; one that has begun keeps its certificate.

    Args:
        config: where the files are.

    Raises:
        ConfigError: they cannot be used.
    """

    def __init__(self, config: TlsConfig) -> None:
        self._files = config.certificate_file, config.key_file
        self._stamp: _Stamp = ()
        try:
            self._stamp = _stamp_of(self._files)
            self._context = _load(*self._files)
        except OSError as error:  # ssl.SSLError is one
            raise ConfigError(
                f"http.tls: certificate {self._files[0]} and key {self._files[1]} cannot be used: {error}"
            ) from error

    def context(self) -> ssl.SSLContext:
        """For a new connection; files that cannot be used leave everything as it was."""
        try:
            stamp = _stamp_of(self._files)
        except OSError as error:
            stamp = ()
            self._tell(stamp, error)
        if stamp and stamp != self._stamp:
            try:
                # A new one: a context in which only one of the files was replaced would serve nobody.
                self._context = _load(*self._files)
            except OSError as error:
                self._tell(stamp, error)
            else:
                log.info("certificate read again", file=str(self._files[0]))
        self._stamp = stamp
        return self._context

    def _tell(self, stamp: _Stamp, error: OSError) -> None:
        """Once for each state of the files."""
        if stamp != self._stamp:
            log.error(
                "certificate cannot be read again, the last one stays", file=str(self._files[0]), error=str(error)
            )


def _load(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # Without a password, a key that needs one would be asked for at the terminal.
    context.load_cert_chain(certificate, key, password=lambda: b"")
    return context


def _stamp_of(files: Sequence[Path]) -> _Stamp:
    stats = [file.stat() for file in files]
    return [(one.st_ino, one.st_mtime_ns, one.st_size) for one in stats]
