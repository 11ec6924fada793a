"""Asking a running agent over HTTP."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from queue_agent.cli.caller_token import find_token
from queue_agent.cli.errors import CommandError
from queue_agent.core.values.refs import CrossClusterRef
from yt_wire import json_text

LONGEST_SECONDS: Final = 120.0
_UNAUTHORIZED: Final = 401
_NO_OBJECT: Final = 404
_OK: Final = 200


def object_path(kind: str, ref: CrossClusterRef) -> str:
    """Where an agent shows a queue or a consumer; `kind` is `queues` or `consumers`."""
    name = f"?name={quote(ref.name, safe='')}" if ref.name else ""
    path = quote(ref.path.removeprefix("//"), safe="")
    return f"/api/v1/{kind}/{quote(ref.cluster, safe='')}/{path}{name}"


class NoSuchObject(CommandError):
    """The agent that was asked does not know the object."""


class LoginNeeded(CommandError):
    """The agent shows this to nobody without a login."""


class AgentApi:
    """One agent; an async context manager.

    An agent that asks who calls gets the caller's token; see `find_token`. Others never see it.

    Args:
        address: such as `http://127.0.0.1:10030`; the scheme may be left out.
        timeout: seconds for each answer.

    Raises:
        CommandError: the address is none.
    """

    def __init__(self, address: str, timeout: float = LONGEST_SECONDS) -> None:
        self.address = address
        self._origin = _origin(address)
        self._timeout = timeout
        self._token: str | None = None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> AgentApi:
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self._timeout))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()

    async def get(self, path: str) -> Any:
        """What is found at a path, encoded, with its query; CommandError if the agent refuses or cannot be asked."""
        status, answer = await self.request("GET", path)
        return self._checked(status, answer)

    async def find(self, path: str) -> Any:
        """The same; None for what this agent does not know of."""
        status, answer = await self.request("GET", path)
        return None if status == _NO_OBJECT else self._checked(status, answer)

    async def post(self, path: str, body: Any) -> Any:
        """Answer to a document, or to nothing if it is None; errors as of `get`."""
        status, answer = await self.request("POST", path, None if body is None else json.dumps(body).encode())
        return self._checked(status, answer)

    async def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        """Status and document of an answer.

        Raises:
            LoginNeeded: the agent shows this to nobody without a login, and the caller's token is none for it.
            CommandError: there is no answer, or none of an agent.
        """
        status, answer, takes_tokens = await self._send(method, path, body)
        if status == _UNAUTHORIZED and takes_tokens and self._token is None:
            self._token = find_token(self._origin, os.environ, Path.home())
            if self._token is None:
                raise LoginNeeded(f"agent {self.address} asks for a login: give your YTsaurus token in YT_TOKEN")
            status, answer, _ = await self._send(method, path, body)
        if status == _UNAUTHORIZED:
            raise LoginNeeded(f"agent {self.address}: {_message(answer)}")
        return status, answer

    async def _send(self, method: str, path: str, body: bytes | None) -> tuple[int, Any, bool]:
        """Status, document, and whether the agent asks for a token."""
        assert self._session is not None, "use it as a context manager"
        url = URL(self._origin + path, encoded=True)
        headers = {} if self._token is None else {"Authorization": f"OAuth {self._token}"}
        try:
            async with self._session.request(method, url, data=body, headers=headers) as response:
                takes_tokens = response.headers.get("WWW-Authenticate", "").startswith("OAuth")
                return response.status, json_text.loads(await response.read() or b"null"), takes_tokens
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            words = str(error) or type(error).__name__
            raise CommandError(f"agent {self.address} cannot be reached: {words}") from error
        except ValueError as error:
            raise CommandError(f"{self.address} does not answer like an agent: {error}") from error

    def _checked(self, status: int, answer: Any) -> Any:
        if status != _OK:
            kind = NoSuchObject if status == _NO_OBJECT else CommandError
            raise kind(f"agent {self.address}: {_message(answer)}")
        return answer


def _message(answer: Any) -> Any:
    return answer.get("message") if isinstance(answer, dict) else answer


def _origin(agent: str) -> str:
    """The address as a URL; HTTP unless it says otherwise."""
    address = agent if "://" in agent else f"http://{agent}"
    try:
        url = URL(address)
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("it has to be http://HOST:PORT, https://HOST:PORT or HOST:PORT")
    except ValueError as error:
        raise CommandError(f"--agent {agent} is no address of an agent: {error}") from error
    return address.rstrip("/")
