"""Who a request is from: by its token, and by the name it asks to act under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from yt_local.identity.tokens import Tokens
from yt_local.security.acl import Principal
from yt_local.security.permissions import UNLIMITED
from yt_local.security.subjects import ROOT, Subjects
from yt_wire.error import ErrorCode, YtError

_SCHEMES: Final = ("OAuth", "Bearer")
_AUTHORIZATION: Final = "Authorization"
_IMPERSONATORS: Final = frozenset({"yql_agent"})
"""Users who may act as others besides superusers: foreign-clients.md §3."""

_USER_NAME: Final = "X-YT-User-Name"
_UNASKED: Final = "YT"
"""Realm of those who need no token, whoever they say they are: foreign-clients.md §3."""


class CallerRefused(YtError):
    """A call over RPC from somebody who is not who they say, or does not say."""

    def __init__(self, message: str, *causes: YtError, **attributes: str) -> None:
        super().__init__(message, ErrorCode.RPC_AUTHENTICATION, attributes, causes)


class Unauthenticated(YtError):
    """A request that does not say who it is from; HTTP answers it with 401."""

    def __init__(self, reason: str) -> None:
        cause = YtError(reason, ErrorCode.INVALID_CREDENTIALS)
        super().__init__("Authentication failed", ErrorCode.AUTHENTICATION, inner_errors=[cause])


class UserRefused(YtError):
    """A request from somebody who is not let in; HTTP answers it with 403."""

    def __init__(self, cause: YtError) -> None:
        super().__init__("User validation failed", inner_errors=[cause])


@dataclass(frozen=True, slots=True)
class Identity:
    """The user of a request."""

    principal: Principal
    realm: str
    """How the user was found out: `YT` and, over RPC, `noop` without a token, `cypress` by one."""

    @property
    def user(self) -> str:
        return self.principal.name


class Authenticator:
    """Authentication of one cluster's requests.

    Args:
        tokens: of the cluster.
        subjects: of the cluster.
        require_token: refuse requests without a valid token; else they are root's.
    """

    def __init__(self, tokens: Tokens, subjects: Subjects, *, require_token: bool) -> None:
        self._tokens = tokens
        self._subjects = subjects
        self._require_token = require_token

    def identify(self, headers: Mapping[str, str]) -> Identity:
        """The user of a request by its headers.

        Raises:
            Unauthenticated: there is no valid token, and one is required; or the user may not act as another.
            UserRefused: the user does not exist, or is banned.
        """
        user, realm = self._by_token(headers.get(_AUTHORIZATION))
        principal = self._principal(user)
        wanted = headers.get(_USER_NAME)
        if wanted is None:
            return Identity(principal, realm)
        if not principal.is_superuser and user not in _IMPERSONATORS:
            raise Unauthenticated(
                f"Client has provided {_USER_NAME} header but authenticated user {user} is not whitelisted,"
                " or a superuser (or is banned)"
            )
        return Identity(self._principal(wanted), realm if realm == _UNASKED else f"{realm}:impersonation")

    def identify_caller(self, user: str | None, token: str | None) -> Identity:
        """The user of a call over RPC, by what it says of itself.

        Args:
            user: who it is said to be from.
            token: of that user; one that is not known counts only where tokens are required.

        Raises:
            CallerRefused: there is no valid token, and one is required; or it is that of another user.
            UserRefused: the user does not exist, or is banned.
        """
        owner = None if token is None else self._tokens.find_user(token)
        if owner is None:
            if self._require_token:
                if token is None:
                    raise CallerRefused("Request is missing credentials")
                cause = YtError("Token is missing in Cypress", ErrorCode.INVALID_CREDENTIALS)
                raise CallerRefused("Request authentication failed", cause)
            return Identity(self._principal(user or ROOT), "noop")
        if user is not None and user != owner:
            raise CallerRefused(
                "Manually specified and authenticated users mismatch", user=user, authenticated_user=owner
            )
        return Identity(self._principal(owner), "cypress")

    def _by_token(self, header: str | None) -> tuple[str, str]:
        """The user, and the realm."""
        scheme, _, token = (header or "").partition(" ")
        user = self._tokens.find_user(token.strip()) if scheme in _SCHEMES and token else None
        if user is not None:
            return user, "cypress"
        if not self._require_token:
            # People have tokens of other clusters in their homes, and clients send them to every cluster.
            return ROOT, _UNASKED
        if header and scheme not in _SCHEMES:
            raise Unauthenticated("Malformed Authorization header")
        raise Unauthenticated("Token is missing in Cypress" if token else "Client is missing credentials")

    def _principal(self, user: str) -> Principal:
        if user == ROOT:
            return UNLIMITED.principal
        try:
            principal = self._subjects.principal(user)
        except YtError as error:
            raise UserRefused(error) from error
        if principal.is_banned:
            raise UserRefused(YtError(f'User "{user}" is banned', ErrorCode.USER_BANNED))
        return principal
