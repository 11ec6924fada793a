"""HTTP API v4 of one cluster: commands out, YSON in; proxies, retries and errors are dealt with here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Any, Final

import aiohttp
import structlog
from yarl import URL

from queue_agent.adapters.cluster.body_digest import digest_of_body
from queue_agent.adapters.cluster.cluster_access import AgentCredential, Credential, proxy_origin, tls_context
from queue_agent.adapters.cluster.http_commands import COMMANDS, Command, with_encoded
from queue_agent.adapters.cluster.http_transport import TRANSPORT_ERRORS, HttpTransport, was_not_sent
from queue_agent.adapters.cluster.proxy_pool import ProxyPool
from queue_agent.adapters.cluster.trailer_http import words_of
from queue_agent.adapters.cluster.yt_errors import (
    RETRIABLE_CODES,
    find_error,
    leaves_open,
    outcome_of,
    to_cluster_error,
    unknown_outcome,
)
from queue_agent.adapters.process.build import DISTRIBUTION, VERSION
from queue_agent.config.clusters import ClusterConfig
from queue_agent.errors import ClusterError, ClusterUnavailable
from queue_agent.ports.cluster import Permit, RequestObserver
from yt_wire import http, json_text, yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid

log = structlog.get_logger(__name__)

_HOSTS: Final = Command("GET")
_WHOAMI: Final = Command("GET")
"""It is a POST without parameters."""

BINARY_YSON: Final = yson.with_attributes("yson", {"format": "binary"})

_HOSTS_REFRESH_SECONDS: Final = 60.0
_FIRST_BACKOFF_SECONDS: Final = 0.1


class YtHttp:
    """A client of one cluster; an async context manager.

    Args:
        cluster: its name, for messages and metrics.
        config: how to reach it.
        observer: hears of every HTTP request.
        random: for ids, delays and the choice of proxies.
        credential: who asks; the agent by default.

    Raises:
        ConfigError: the address is not one, or the certificate file cannot be used.
    """

    def __init__(
        self,
        cluster: str,
        config: ClusterConfig,
        observer: RequestObserver | None = None,
        random: Random | None = None,
        credential: Credential | None = None,
    ) -> None:
        self._cluster = cluster
        self._config = config
        self._observer = observer
        self._random = random or Random()
        configured = proxy_origin(cluster, config.proxy)
        self._scheme = configured.scheme
        self._pool = ProxyPool(str(configured), self._random)
        self._credential = credential or AgentCredential(cluster, config)
        tls = tls_context(cluster, config) if configured.scheme == "https" else None
        self._transport = HttpTransport(config, tls)
        self._hosts_lock = asyncio.Lock()
        self._hosts_known = False
        self._hosts_refresh_due = 0.0 if config.discover_proxies else float("inf")
        self._urls: dict[tuple[str, str], URL] = {}

    async def __aenter__(self) -> YtHttp:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._transport.__aexit__(kind, error, traceback)

    async def call(
        self,
        command: str,
        parameters: Mapping[str, Any],
        *,
        rows: Sequence[Any] | bytes | None = None,
        encoded: Mapping[str, bytes] | None = None,
        subject: str | None = None,
        permit: Permit | None = None,
    ) -> Any:
        """Run a command with a structured answer.

        Args:
            command: a key of `COMMANDS`.
            parameters: without formats and ids; those are added.
            rows: body of a PUT; bytes are a list fragment of YSON already.
            encoded: further parameters of a POST, in YSON already.
            subject: what the request is about, for messages; the parameter `path` by default.
            permit: see `ports.Cluster.trim_rows`.

        Returns:
            The answer with strings as `str`; None if it is empty.

        Raises:
            ClusterError: see `ports.Cluster`.
            OutcomeUnknown: the command is not repeatable, and no answer tells whether it was carried out.
        """
        body = await self._execute(command, parameters, rows, subject, encoded, permit)
        return self.parse(command, body) if body else None

    async def execute(
        self, command: str, parameters: Mapping[str, Any], value: Any = None, *, subject: str | None = None
    ) -> Any:
        """Run a light command that changes something, in a batch of its own, by whose mutation id repeats are known.

        Errors are those of `call`.

        Args:
            command: such as `create` or `mount_table`.
            parameters: of the command.
            value: its input, for commands such as `set`.
            subject: as of `call`.

        Returns:
            What the command answers; None if that is nothing.
        """
        request: dict[str, Any] = {"command": command, "parameters": parameters}
        if value is not None:
            request["input"] = value
        subject = subject or str(parameters.get("path", ""))
        about = f"{command} {subject}".rstrip()
        body = await self._execute("execute_batch", {"requests": [request]}, None, about, changes=True)
        [result] = self.parse("execute_batch", body)["results"]
        if "error" in result:
            raise to_cluster_error(YtError.from_map(result["error"]), self._request(command, subject))
        return result.get("output")

    async def call_unparsed(
        self, command: str, parameters: Mapping[str, Any], *, encoded: Mapping[str, bytes], subject: str
    ) -> bytes:
        """Run a command as `call` does; the answer is left to `parse`."""
        return await self._execute(command, parameters, None, subject, encoded)

    async def call_bytes(self, command: str, parameters: Mapping[str, Any], content: bytes | None = None) -> bytes:
        """Run a command on files: content goes in or comes out, as it is. Errors as in `call`."""
        return await self._execute(command, parameters, None, None, content=content)

    async def call_if_changed(
        self, command: str, parameters: Mapping[str, Any], digest: bytes | None
    ) -> tuple[bytes, Any]:
        """Run a command as `call` does, for a large answer that rarely changes.

        Returns:
            A digest of the answer, and the answer; None instead of it if this is the digest given.
        """
        body = await self._execute(command, parameters, None, None)
        new_digest = await digest_of_body(body)
        return new_digest, None if new_digest == digest else self.parse(command, body)

    async def read_rows(
        self,
        command: str,
        parameters: Mapping[str, Any],
        *,
        rows: Sequence[Any] | None = None,
        subject: str | None = None,
    ) -> list[Any]:
        """Run a tabular command; arguments and errors as in `call`, the answer is certain to be whole."""
        return self._parse_rows(command, await self._execute(command, parameters, rows, subject))

    async def read_raw_rows(self, command: str, parameters: Mapping[str, Any], *, subject: str) -> list[Any]:
        """Rows as by `read_rows`, with all strings as bytes."""
        return yson.loads_rows(await self._execute(command, parameters, None, subject))

    async def read_rows_if_changed(
        self, command: str, parameters: Mapping[str, Any], digest: bytes | None, *, subject: str | None = None
    ) -> tuple[bytes, list[Any] | None]:
        """Run a tabular command as `read_rows` does, for rows that rarely change.

        Returns:
            A digest of the answer, and the rows; None instead of them if this is the digest given.
        """
        body = await self._execute(command, parameters, None, subject)
        new_digest = await digest_of_body(body)
        return new_digest, None if new_digest == digest else self._parse_rows(command, body)

    async def find_user(self) -> str | None:
        """Name of the user whom requests are taken to come from; None if the proxy does not tell.

        Raises:
            ClusterError: the proxy cannot be reached, or does not let the user in.
        """
        origin = self._pool.choose(heavy=False, now=asyncio.get_running_loop().time())
        request = self._request("whoami", "")
        try:
            answer = await self._transport.send_once("POST", URL(origin + "/auth/whoami"), self._headers(_WHOAMI), b"")
            document = json_text.loads(answer.body) if answer.status == 200 else {}
        except TRANSPORT_ERRORS as error:
            raise ClusterUnavailable(f"{request} failed: {words_of(error)} ({origin})", ErrorCode.TRANSPORT) from error
        except ValueError as error:
            raise ClusterError(f"Answer to {request} is malformed: {error}") from error
        if answer.status in (401, 403):
            raise to_cluster_error(YtError("the token is not valid", ErrorCode.AUTHENTICATION), request)
        login = document.get("login") if isinstance(document, dict) else None
        return str(login) if login else None

    def _parse_rows(self, command: str, body: bytes) -> list[Any]:
        # A list fragment in brackets is a list, so rows come with their strings decoded.
        rows: list[Any] = self.parse(command, b"[" + body + b"]")
        return rows

    def parse(self, command: str, body: bytes) -> Any:
        """Value of an answer, with strings as `str`; ClusterError if it is malformed."""
        try:
            return yson.loads(body)
        except YtError as error:
            raise ClusterError(
                f"Answer to {command} of cluster {self._cluster} is malformed: {error.message}"
            ) from error

    async def _execute(
        self,
        command: str,
        parameters: Mapping[str, Any],
        rows: Sequence[Any] | bytes | None,
        subject: str | None,
        encoded: Mapping[str, bytes] | None = None,
        permit: Permit | None = None,
        *,
        content: bytes | None = None,
        changes: bool = False,
    ) -> bytes:
        spec = COMMANDS[command]
        clock = asyncio.get_running_loop().time
        subject = subject or str(parameters.get("path", ""))
        all_parameters = {**parameters, "output_format": BINARY_YSON} if spec.formats else dict(parameters)
        body = content
        if spec.method == "PUT" and spec.formats:
            all_parameters["input_format"] = BINARY_YSON
            body = rows if isinstance(rows, bytes) else yson.dumps_rows(rows or [])
        if spec.mutation_id:
            all_parameters["mutation_id"] = self._new_guid()
        headers = self._headers(spec)
        tried: list[str] = []
        may_be_done = False
        while True:
            if spec.method == "POST":
                body = with_encoded(yson.dumps(all_parameters), encoded or {})
            else:
                headers[http.PARAMETERS] = http.encode_parameters(all_parameters)
            if spec.heavy and clock() >= self._hosts_refresh_due:
                await self._refresh_hosts()
            origin = self._pool.choose(heavy=spec.heavy, now=clock(), tried=tried)
            started = clock()
            answer, failure = await self._attempt(spec, command, subject, origin, headers, body, permit)
            error = None if failure is None else failure.error
            if self._observer is not None:
                self._observer.request_finished(self._cluster, command, outcome_of(error), clock() - started)
            if failure is None:
                return answer
            tried.append(origin)
            may_be_done = may_be_done or failure.may_be_done
            again = failure.may_pass and (spec.repeatable or not may_be_done)
            if not again or len(tried) > self._config.retry_count:
                changing = changes or not spec.repeatable
                raise unknown_outcome(failure.error) if changing and may_be_done else failure.error
            if spec.mutation_id:
                all_parameters["retry"] = True
            backoff = _FIRST_BACKOFF_SECONDS * 2 ** (len(tried) - 1)
            await asyncio.sleep(backoff * self._random.uniform(0.5, 1.5))

    async def _attempt(
        self,
        spec: Command,
        command: str,
        subject: str,
        origin: str,
        headers: Mapping[str, str],
        body: bytes | None,
        permit: Permit | None,
    ) -> tuple[bytes, _Failure | None]:
        """The answer's body; or how the request failed."""
        try:
            answer = await self._transport.send(spec, self._url(origin, command), headers, body, permit)
        except TRANSPORT_ERRORS as error:
            timed_out = isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ConnectionTimeoutError)
            timeout = self._config.request_timeout.total_seconds()
            timeout = timeout if permit is None else min(timeout, permit.seconds)
            words = f"no answer in {timeout:g} s" if timed_out else words_of(error)
            self._ban(origin, words)
            unavailable = ClusterUnavailable(
                f"{self._request(command, subject)} failed: {words} ({origin})",
                ErrorCode.TIMEOUT if timed_out else ErrorCode.TRANSPORT,
            )
            unavailable.__cause__ = error
            # A repeat of what was not answered in time would take just as long.
            return b"", _Failure(unavailable, may_pass=not timed_out, may_be_done=not was_not_sent(error))
        if find_error(answer) is None:
            return answer.body, None
        answer = self._credential.clean(answer)
        failed = find_error(answer) or YtError("the proxy repeated a secret")
        log.debug(
            "request failed",
            cluster=self._cluster,
            command=command,
            subject=subject,
            error=str(failed),
            correlation_id=headers[http.CORRELATION_ID],
            request_id=answer.headers.get(http.REQUEST_ID),
            proxy=answer.headers.get(http.PROXY, origin),
        )
        if answer.status >= 500 or answer.is_a_strangers:
            self._ban(origin, f"HTTP status {answer.status}")
        may_pass = answer.status >= 500 or failed.find(*RETRIABLE_CODES) is not None
        translated = to_cluster_error(failed, self._request(command, subject))
        return b"", _Failure(translated, may_pass, may_be_done=leaves_open(failed))

    def _headers(self, spec: Command) -> dict[str, str]:
        headers = {
            "User-Agent": f"{DISTRIBUTION}/{VERSION}",
            "Accept-Encoding": "identity",
            http.CORRELATION_ID: self._new_guid(),
            **self._credential.headers(),
        }
        if spec.method == "POST":
            headers["Content-Type"] = "application/x-yt-yson-binary"
        else:
            headers[http.HEADER_FORMAT] = http.YSON_TEXT_HEADER_FORMAT
        return headers

    def _new_guid(self) -> str:
        return str(Guid.from_bytes(self._random.randbytes(16)))

    def _url(self, origin: str, command: str) -> URL:
        key = origin, command
        if key not in self._urls:
            self._urls[key] = URL(origin + http.COMMAND_PREFIX + command)
        return self._urls[key]

    def _request(self, command: str, subject: str) -> str:
        """For messages: who reads them knows what travels in a batch, and not that it does."""
        words = [subject] if command == "execute_batch" and subject else [command, subject]
        return f"{' '.join(filter(None, words))} on cluster {self._cluster}"

    def _ban(self, origin: str, reason: str) -> None:
        if self._pool.ban(origin, asyncio.get_running_loop().time()):
            log.warning("proxy banned", cluster=self._cluster, proxy=origin, reason=reason)

    async def _refresh_hosts(self) -> None:
        """Ask which proxies there are; on failure the present ones stay until the next time."""
        if self._hosts_known and self._hosts_lock.locked():
            return  # the present ones will do until the answer is there
        clock = asyncio.get_running_loop().time
        async with self._hosts_lock:
            if clock() < self._hosts_refresh_due:
                return
            origin = self._pool.choose(heavy=False, now=clock())
            try:
                answer = await self._transport.send_once("GET", URL(origin + "/hosts"), self._headers(_HOSTS), None)
                if answer.status != 200:
                    raise aiohttp.ClientError(f"HTTP status {answer.status}")
                origins = [str(URL(f"{self._scheme}://{host}").origin()) for host in json_text.loads(answer.body)]
            except (*TRANSPORT_ERRORS, ValueError) as error:
                log.warning("proxies not known", cluster=self._cluster, proxy=origin, error=words_of(error))
            else:
                self._pool.discovered(origins)
                self._hosts_known = True
            self._hosts_refresh_due = clock() + _HOSTS_REFRESH_SECONDS


@dataclass(frozen=True, slots=True)
class _Failure:
    """How one sending of a request failed."""

    error: ClusterError
    may_pass: bool
    """A repeat may succeed."""

    may_be_done: bool
    """The cluster may still have carried out the request."""
