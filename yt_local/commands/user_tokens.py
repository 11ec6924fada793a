"""issue_token, revoke_token, list_user_tokens, set_user_password: how users show who they are."""

from __future__ import annotations

from typing import Any, Final

from yt_local.calls.call import Method
from yt_local.calls.command import Body, Command, Parameters, light, volatile
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster
from yt_local.session import Session
from yt_wire.error import YtError

_PASSWORD: Final = "neither a superuser nor the user with the right password"


class _User(Parameters):
    user: str
    password_sha256: str = ""


class _IssueToken(_User):
    description: str | None = None


class _RevokeToken(_User):
    token_sha256: str


class _ListTokens(_User):
    with_metadata: bool = False


class _SetPassword(Parameters):
    user: str
    current_password_sha256: str = ""
    new_password_sha256: str


async def _issue_token(cluster: Cluster, session: Session, parameters: _IssueToken, _: Body) -> Any:
    return cluster.tokens.issue(session.access, parameters.user, parameters.password_sha256, parameters.description)


async def _revoke_token(cluster: Cluster, session: Session, parameters: _RevokeToken, _: Body) -> Any:
    cluster.tokens.revoke(session.access, parameters.user, parameters.password_sha256, parameters.token_sha256)
    return {}


async def _list_user_tokens(cluster: Cluster, session: Session, parameters: _ListTokens, _: Body) -> Any:
    return cluster.tokens.list(
        session.access, parameters.user, parameters.password_sha256, with_metadata=parameters.with_metadata
    )


async def _set_user_password(cluster: Cluster, session: Session, parameters: _SetPassword, _: Body) -> Any:
    if not parameters.new_password_sha256:
        raise YtError("The new password must not be empty")
    cluster.tokens.set_password(
        session.access, parameters.user, parameters.current_password_sha256, parameters.new_password_sha256
    )
    return {}


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "issue_token",
        _IssueToken,
        _issue_token,
        Manual(
            "A new token for a user.",
            "`token`; no later command shows it again",
            {900: f"{_PASSWORD}; no such user", 901: _PASSWORD},
            parameters={"description": "kept with the token"},
        ),
        transactions="ignored",
    ),
    volatile(
        "revoke_token",
        _RevokeToken,
        _revoke_token,
        Manual(
            "Makes a token invalid.",
            errors={900: _PASSWORD, 901: _PASSWORD, 1: "no such token"},
            parameters={"token_sha256": "of the token"},
        ),
        transactions="ignored",
    ),
    light(
        "list_user_tokens",
        _ListTokens,
        _list_user_tokens,
        Manual(
            "Hashes of a user's tokens.",
            "`[sha256; ...]`, or with `with_metadata` a map of them to what is known of each",
            {900: f"{_PASSWORD}; no such user", 901: _PASSWORD},
            parameters={"with_metadata": "more than hashes"},
        ),
        transactions="ignored",
    ),
    volatile(
        "set_user_password",
        _SetPassword,
        _set_user_password,
        Manual(
            "Gives a user a password.",
            errors={900: f"{_PASSWORD}; no such user", 901: _PASSWORD},
            parameters={
                "current_password_sha256": "needed unless the caller is a superuser",
                "new_password_sha256": "an empty one takes the password away",
            },
        ),
        transactions="ignored",
    ),
)


METHODS: Final[tuple[Method, ...]] = ()
