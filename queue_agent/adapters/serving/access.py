"""Who a request is from, whether it is served, and sessions of people who log in."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from aiohttp import web

from queue_agent.adapters.serving.refusals import Refusal, forbid, need_login
from queue_agent.adapters.serving.token_check import TokenCheck
from queue_agent.config.console import ConsoleConfig
from queue_agent.core.access.forwarding import find_client, parse_address
from queue_agent.core.access.identity import is_open, names_caller, read_authorization, read_token, read_user
from queue_agent.core.access.sessions import Login, Session, SessionLimits, Sessions, SessionsFull
from queue_agent.errors import AccessDenied, ClusterError
from queue_agent.ports.acts import Caller, CallerDoor
from queue_agent.ports.passes import Clock
from yt_wire import http_guard, json_text
from yt_wire.error import ErrorCode, YtError

CSRF_HEADER: Final = "X-CSRF-Token"
CLUSTER_HEADER: Final = "X-YT-Cluster"
"""Of a program: the cluster that knows its token, if that is not the one of the state tables."""

_FORWARDED: Final = "X-Forwarded-For"
_KEY_BYTES: Final = 32
_NEVER: Final = "Thu, 01 Jan 1970 00:00:00 GMT"


@dataclass(frozen=True, slots=True)
class ConsoleFacts:
    """What pages know about the agent."""

    stage: str
    agent: str
    """Address by which other agents know this one."""

    clusters: Sequence[str]
    home: str
    """The cluster of the state tables."""

    is_secure: bool
    """Whether browsers reach the agent by HTTPS alone."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Who a request is from."""

    caller: Caller
    session: Session[str] | None
    """None: a proxy has named the caller."""

    key: bytes = b""
    """Of the session."""

    is_program: bool = False
    """Whether the request carries the token itself, which no page of another server can have a browser do."""


_ASKING: Final = web.RequestKey("asking", Asking)


class AccessControl:
    """Decides about every request.

    Args:
        config: what is allowed.
        door: finds out who callers are.
        facts: for pages.
        check: finds the users of tokens.
        clock: time of day.
    """

    def __init__(
        self, config: ConsoleConfig, door: CallerDoor, facts: ConsoleFacts, check: TokenCheck, clock: Clock
    ) -> None:
        self._config = config
        self._door = door
        self._facts = facts
        self._check = check
        self._clock = clock
        limits = SessionLimits(
            config.session_lifetime, config.session_idle, config.max_sessions, config.max_sessions_per_user
        )
        self._sessions: Sessions[str] = Sessions(limits)
        self._secret = secrets.token_bytes(_KEY_BYTES)
        # Where no token proves anything, whoever gets a name resolved to this machine must not be served under it.
        names = frozenset(origin.partition("://")[2].partition(":")[0] for origin in config.origins)
        self._hosts = names if config.trust_clusters_without_tokens else None

    @web.middleware
    async def admit(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Let in who may see what is asked for; whoever is not known sees what configuration shows to everybody."""
        resource = request.match_info.route.resource
        route = "" if resource is None else resource.canonical
        asking = await self._find_caller(request, route)
        if asking is not None:
            request[_ASKING] = asking
        elif not is_open(route, shows_status=self._config.anonymous == "status"):
            raise self._need_login("Log in first: this agent shows that to nobody else")
        return await handler(request)

    def knows(self, request: web.Request) -> bool:
        """Whether somebody asks who has logged in."""
        return request.get(_ASKING) is not None

    def caller(self, request: web.Request) -> Caller:
        """Who asks; Refusal if nobody has logged in."""
        asking: Asking | None = request.get(_ASKING)
        if asking is None:
            raise self._need_login("Log in first: this is done with your own rights")
        return asking.caller

    def check_page(self, request: web.Request) -> None:
        """Refusal for what a page of another server has a browser ask."""
        refusal = http_guard.find_refusal(request.headers.items(), hosts=self._hosts, origins=self._config.origins)
        if refusal is not None:
            raise forbid(refusal)

    def check_change(self, request: web.Request) -> None:
        """The same for what changes something, which has to carry the token of the session, or the caller's own."""
        self.check_page(request)
        asking: Asking | None = request.get(_ASKING)
        if asking is not None and asking.is_program:
            return
        expected = self._csrf(request)
        given = request.headers.getall(CSRF_HEADER, [])
        if expected is None or len(given) != 1 or not _is_same(given[0], expected):
            raise forbid(f"The request does not carry the session's {CSRF_HEADER}: reload the page")

    async def show(self, request: web.Request) -> web.Response:
        """Who is asking, and what they may do."""
        return web.json_response(self._document(request))

    async def log_in(self, request: web.Request) -> web.Response:
        """Begin a session, or add a cluster to one; its key is always new."""
        self.check_page(request)
        if self._config.login != "token":
            raise forbid("This agent takes no tokens: console.login of its configuration says how to log in")
        document = read_document(await request.read(), request)
        try:
            token = read_token(document.get("token"))
        except ValueError as error:
            raise YtError(f"Cannot log in: {error}") from error
        cluster = document.get("cluster")
        if not isinstance(cluster, str) or cluster not in self._facts.clusters:
            raise YtError(f"Cannot log in: clusters of this agent are {', '.join(self._facts.clusters)}")
        user = await self._check.identify(cluster, token, self._client(request), is_program=False)
        now = self._clock.now()
        before = self._session(request)
        logins = {} if before is None else {name: one for name, one in before.logins.items() if name != cluster}
        if before is not None:
            self._sessions.close(self._key(request))
        key = secrets.token_urlsafe(_KEY_BYTES)
        began = now if before is None else before.began
        session = Session(secrets.token_urlsafe(_KEY_BYTES), {**logins, cluster: Login(user, token, now)}, began, now)
        self._open(_digest(key), session)
        request[_ASKING] = self._asking(session, _digest(key), request)
        response = web.json_response(self._document(request))
        self._set_cookie(request, response, key, int(self._config.session_lifetime.total_seconds()))
        return response

    async def log_out(self, request: web.Request) -> web.Response:
        """End the session."""
        self.caller(request)
        self.check_change(request)
        self._sessions.close(request[_ASKING].key)
        response = web.json_response({})
        self._set_cookie(request, response, "", 0)
        return response

    async def _find_caller(self, request: web.Request, route: str) -> Asking | None:
        if self._config.login == "header":
            user = self._named_user(request)
            return None if user is None else Asking(self._door.of_name(user, self._client(request)), None)
        if self._config.login == "token" and names_caller(route):
            token = self._sent_token(request)
            if token is not None:
                return await self._find_program(request, token)
        session = self._session(request)
        if session is None or not await self._is_valid(session):
            self._sessions.close(self._key(request))
            return None
        return self._asking(session, self._key(request), request)

    def _sent_token(self, request: web.Request) -> str | None:
        try:
            return read_authorization(request.headers.getall("Authorization", []))
        except ValueError as error:
            raise self._need_login(f"Cannot log in with Authorization: {error}") from error

    async def _find_program(self, request: web.Request, token: str) -> Asking:
        """Whoever sends a token with each request has a session as well: its key is the token."""
        self.check_page(request)  # with a name of its own for this address, a page could send any header
        cluster = request.headers.get(CLUSTER_HEADER, self._facts.home)
        if cluster not in self._facts.clusters:
            raise self._need_login(f"{CLUSTER_HEADER} must be one of {', '.join(self._facts.clusters)}")
        # No cookie has a line break in it, so nobody else's key is this one.
        key = _digest(f"{cluster}\n{token}")
        session = self._sessions.find(key, self._clock.now())
        if session is None or not await self._is_valid(session):
            self._sessions.close(key)
            user = await self._check.identify(cluster, token, self._client(request), is_program=True)
            now = self._clock.now()
            session = Session("", {cluster: Login(user, token, now)}, now, now)
            self._open(key, session)
        return replace(self._asking(session, key, request), is_program=True)

    def _open(self, key: bytes, session: Session[str]) -> None:
        try:
            self._sessions.open(key, session, self._clock.now())
        except SessionsFull as error:
            raise Refusal("There are too many sessions: try again later", ErrorCode.UNAVAILABLE, 503) from error

    def _need_login(self, message: str) -> Refusal:
        return need_login(message, takes_tokens=self._config.login == "token")

    def _asking(self, session: Session[str], digest: bytes, request: web.Request) -> Asking:
        name = f"session:{digest[:8].hex()}"
        return Asking(self._door.of_tokens(session.logins, self._client(request), name), session, digest)

    def _named_user(self, request: web.Request) -> str | None:
        header = self._config.header
        if header is None:
            return None
        address = parse_address(_peer(request))
        if not any(address in network for network in header.peers):
            return None
        try:
            return read_user(request.headers.getall(header.name, []))
        except ValueError as error:
            raise need_login(f"The proxy does not say who you are: {error}") from error

    def _client(self, request: web.Request) -> str:
        """IP address that failed logins are counted for, and that the audit journal has."""
        return find_client(_peer(request), request.headers.getall(_FORWARDED, []), self._config.proxies)

    async def _is_valid(self, session: Session[str]) -> bool:
        """Whether clusters still know the tokens; one that does not answer changes nothing."""
        now = self._clock.now()
        for cluster, login in list(session.logins.items()):
            if now - login.checked_at < self._config.recheck_period:
                continue
            # Others of this session do not ask meanwhile.
            session.logins = {**session.logins, cluster: replace(login, checked_at=now)}
            try:
                is_known = await self._door.identify(cluster, login.credential) == login.user
            except AccessDenied:
                is_known = False
            except ClusterError:
                continue
            if not is_known:
                session.logins = {name: one for name, one in session.logins.items() if name != cluster}
        return bool(session.logins)

    def _session(self, request: web.Request) -> Session[str] | None:
        return self._sessions.find(self._key(request), self._clock.now()) if self._config.login == "token" else None

    def _key(self, request: web.Request) -> bytes:
        return _digest(request.cookies.get(self._cookie(request), ""))

    def _cookie(self, request: web.Request) -> str:
        """Browsers send cookies to all ports of a host: agents on one host do not disturb each other."""
        if self._facts.is_secure:
            return "__Host-queue-agent"
        transport = request.transport
        address = None if transport is None else transport.get_extra_info("sockname")
        return f"queue-agent-{address[1]}" if address else "queue-agent"

    def _set_cookie(self, request: web.Request, response: web.Response, value: str, seconds: int) -> None:
        response.set_cookie(
            self._cookie(request),
            value,
            max_age=seconds,
            expires=None if seconds else _NEVER,
            path="/",
            secure=self._facts.is_secure,
            httponly=True,
            samesite="Strict",
        )

    def _csrf(self, request: web.Request) -> str | None:
        asking: Asking | None = request.get(_ASKING)
        if asking is None or asking.is_program:
            return None
        if asking.session is not None:
            return asking.session.csrf
        return hmac.new(self._secret, asking.caller.session.encode(), hashlib.sha256).hexdigest()

    def _document(self, request: web.Request) -> Mapping[str, Any]:
        asking: Asking | None = request.get(_ASKING)
        known = asking is not None
        session = None if asking is None else asking.session
        return {
            "user": None if asking is None else asking.caller.user,
            "login": self._config.login,
            "anonymous": self._config.anonymous,
            "clusters": list(self._facts.clusters),
            "logins": {} if session is None else {name: one.user for name, one in session.logins.items()},
            "may": {
                "status": known or self._config.anonymous == "status",
                "rows": known and self._config.rows,
                "acts": [act.value for act in self._config.acts] if known else [],
            },
            "offers": {"rows": self._config.rows, "acts": [act.value for act in self._config.acts]},
            "csrf": self._csrf(request),
            "stage": self._facts.stage,
            "agent": self._facts.agent,
        }


def read_document(body: bytes, request: web.Request) -> Mapping[str, Any]:
    """A map in JSON, which is not quoted in errors: there may be a token in it."""
    if request.content_type != "application/json":
        raise Refusal("The body must be application/json", ErrorCode.GENERIC, 415)
    try:
        document = json_text.loads(body)
    except (ValueError, RecursionError):
        raise YtError("The body is not JSON") from None
    if not isinstance(document, dict):
        raise YtError("The body is not a map")
    return document


def _peer(request: web.Request) -> str:
    """IP address of the other end of the connection; what headers say of it counts for nothing."""
    return request.remote or "0.0.0.0"


def _digest(key: str) -> bytes:
    """Keys are kept as digests: looking one up takes as long whatever it shares with another."""
    return hashlib.sha256(key.encode(errors="replace")).digest()


def _is_same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode())
