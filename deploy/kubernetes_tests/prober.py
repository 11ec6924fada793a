"""Reads statuses once a second through the cluster, as people and the web UI do, and remembers how that went."""

from __future__ import annotations

import hashlib
import http.client
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

PERIOD_SECONDS: Final = 1.0
_TIMEOUT_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Read:
    """One status that was asked for."""

    path: str
    seconds: float
    error: str | None

    def __str__(self) -> str:
        return f"{self.path}: {self.seconds:.2f} s, {self.error or 'read'}"


class Cluster:
    """The local cluster's HTTP proxy, asked as root.

    Args:
        address: `host:port`.
        token: root's.
    """

    def __init__(self, address: str, token: str) -> None:
        self._address = address
        self._token = token

    def get(self, path: str) -> Any:
        """A value.

        Raises:
            OSError, HTTPException: the proxy does not answer.
            ValueError: it answers with an error.
        """
        return self._ask("GET", "get", {"path": path})["value"]

    def set(self, path: str, value: Any) -> None:
        """Write a value; raises as `get` does."""
        self._ask("PUT", "set", {"path": path}, json.dumps(value))

    def issue_token(self, user: str) -> str:
        """A new token of a user; raises as `get` does."""
        return str(self._ask("POST", "issue_token", {"user": user, "password_sha256": ""}))

    def revoke_token(self, user: str, token: str) -> None:
        """Have a token be of no use any more; raises as `get` does."""
        digest = hashlib.sha256(token.encode()).hexdigest()
        self._ask("POST", "revoke_token", {"user": user, "password_sha256": "", "token_sha256": digest})

    def _ask(self, method: str, command: str, parameters: Mapping[str, str], body: str | None = None) -> Any:
        connection = http.client.HTTPConnection(self._address, timeout=_TIMEOUT_SECONDS)
        query = "&".join(f"{name}={quote(value)}" for name, value in parameters.items())
        formats = {"X-YT-Output-Format": '"json"', "X-YT-Input-Format": '"json"'}
        try:
            headers = {"Authorization": f"OAuth {self._token}", **formats}
            connection.request(method, f"/api/v4/{command}?{query}", body, headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.status != http.client.OK:
            raise ValueError(f"HTTP status {response.status}: {text[:2000]}")
        return json.loads(text) if text else None


class Prober:
    """Reads from the beginning of its context to its end.

    Args:
        cluster: where.
        paths: of attributes; each has a thread, so that one that hangs does not hide another.
    """

    def __init__(self, cluster: Cluster, paths: tuple[str, ...]) -> None:
        self._cluster = cluster
        self._paths = paths
        self._ended = threading.Event()
        self.all_reads: list[Read] = []
        """Of every context that has ended."""

    @contextmanager
    def reading(self) -> Iterator[list[Read]]:
        """The reads so far; at the end all are there."""
        reads: list[Read] = []
        self._ended.clear()
        threads = [threading.Thread(target=self._read, args=(path, reads)) for path in self._paths]
        for thread in threads:
            thread.start()
        try:
            yield reads
            time.sleep(3 * PERIOD_SECONDS)  # what was done last shows in the next ones
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()
            self.all_reads += reads

    def _read(self, path: str, reads: list[Read]) -> None:
        while not self._ended.is_set():
            begin = time.monotonic()
            error = None
            try:
                found = self._cluster.get(path)
                parts = found if isinstance(found, list) else [found]
                if not parts or any(part.get("error") for part in parts):
                    error = f"not a status: {found}"
            except (OSError, http.client.HTTPException, ValueError) as raised:
                error = f"{type(raised).__name__}: {raised}"
            took = time.monotonic() - begin
            reads.append(Read(path, took, error))
            self._ended.wait(max(0.0, PERIOD_SECONDS - took))
