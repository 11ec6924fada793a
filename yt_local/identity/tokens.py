"""Tokens and passwords: issued, revoked, listed, and what a cluster keeps of them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final

from yt_local.cypress.cypress import Cypress
from yt_local.cypress.resolver import Resolver
from yt_local.identity.access_bootstrap import TOKENS_PATH
from yt_local.security.permissions import UNLIMITED, Access
from yt_local.security.subjects import Subjects
from yt_local.store.model import Node
from yt_local.store.state import ClusterState
from yt_wire.error import ErrorCode, YtError
from yt_wire.ypath import escape_literal

_METADATA: Final = ("description", "token_prefix", "creation_time")
_PREFIX_LENGTH: Final = len("ytct-0000-")
_SALT_BYTES: Final = 16


class Tokens:
    """Commands on tokens and passwords; tokens are kept as their hashes, under `//sys/cypress_tokens`."""

    def __init__(self, state: ClusterState, resolver: Resolver, cypress: Cypress) -> None:
        self._state = state
        self._resolver = resolver
        self._cypress = cypress
        self._subjects = Subjects(state)

    def find_user(self, token: str) -> str | None:
        """Name of the user a token was issued to; None if it is not valid."""
        node = self._find(hash_of(token))
        return self._user_of(node) if node else None

    def add(self, user: str, token: str) -> None:
        """Let a token chosen elsewhere stand for a user; nothing happens if it does."""
        if self.find_user(token) != user:
            self._keep(user, token, None)

    def issue(self, access: Access, user: str, password_sha256: str, description: str | None) -> str:
        """A new token of a user, which is shown this once."""
        self._check_entitled(access, "Token issuance", user, password_sha256)
        token = f"ytct-{secrets.token_hex(2)}-{secrets.token_hex(16)}"
        self._keep(user, token, description)
        return token

    def revoke(self, access: Access, user: str, password_sha256: str, token_sha256: str) -> None:
        node = self._find(token_sha256)
        if node is None or self._user_of(node) != user:
            raise YtError(f'Provided token is not recognized as a valid token for user "{user}"')
        self._check_entitled(access, "Token revocation", user, password_sha256)
        self._cypress.remove(UNLIMITED, _path(token_sha256))

    def list(
        self, access: Access, user: str, password_sha256: str, *, with_metadata: bool
    ) -> Sequence[str] | dict[str, Any]:
        """Hashes of a user's tokens; with metadata, a map from them."""
        self._check_entitled(access, "Tokens listing", user, password_sha256)
        found = [
            node for node in self._state.children(self._resolver.node(TOKENS_PATH).id) if self._user_of(node) == user
        ]
        if not with_metadata:
            return [node.name for node in found]
        return {
            node.name: {**{name: node.attributes.get(name) for name in _METADATA}, "creation_time": node.creation_time}
            for node in found
        }

    def set_password(self, access: Access, user: str, current_password_sha256: str, new_password_sha256: str) -> None:
        self._check_entitled(access, "Password change", user, current_password_sha256)
        node = self._user(user)
        salt = secrets.token_hex(_SALT_BYTES).upper()
        with self._state.change():
            password = {"salt": salt, "hash": _salted(salt, new_password_sha256)}
            self._state.put_node(replace(node, value=password))

    def _keep(self, user: str, token: str, description: str | None) -> None:
        name = hash_of(token)
        prefix = token[:_PREFIX_LENGTH] if token.startswith("ytct-") else ""
        attributes = {"user": user, "user_id": self._user(user).id, "token_prefix": prefix}
        if description is not None:
            attributes["description"] = description
        self._cypress.create(UNLIMITED, _path(name), "map_node", attributes, force=True)

    def _user_of(self, token: Node) -> str | None:
        """By the id, which outlives a change of the name; tokens put there by hand may have the name alone."""
        user_id = token.attributes.get("user_id")
        if user_id is not None:
            user = self._state.find_node(str(user_id))
            return user.name if user and user.type == "user" else None
        name = token.attributes.get("user")
        return str(name) if isinstance(name, str) else None

    def _check_entitled(self, access: Access, action: str, user: str, password_sha256: str) -> None:
        """YtError unless the caller may administer the user, or is the user and knows the password."""
        node = self._user(user)
        if access.allows(node, "administer"):
            return
        if access.user != user:
            raise YtError(
                f'{action} can be performed either by user theirselves or by a user having "administer" permission on'
                " the user",
                attributes={"user": user, "authenticated_user": access.user},
            )
        password = node.value or {"salt": "", "hash": ""}
        if not compare_digest(_salted(password["salt"], password_sha256), password["hash"]):
            raise YtError("User provided invalid password")

    def _user(self, name: str) -> Node:
        node = self._subjects.find_user(name)
        if node is None:
            raise YtError(f'No such user "{name}"', ErrorCode.AUTHENTICATION)
        return node

    def _find(self, token_sha256: str) -> Node | None:
        return self._state.child(self._resolver.node(TOKENS_PATH).id, token_sha256)


def hash_of(token: str) -> str:
    """What is kept of a token: SHA-256 in lower-case hexadecimal digits."""
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _path(token_sha256: str) -> str:
    return f"{TOKENS_PATH}/{escape_literal(token_sha256)}"


def _salted(salt: str, password_sha256: str) -> str:
    return sha256((salt + password_sha256).encode()).hexdigest()
