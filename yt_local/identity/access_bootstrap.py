"""Access control of a new cluster: builtin subjects, and who may do what where, as on a cluster just set up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from yt_local.cypress.cypress import Cypress
from yt_local.identity.objects import Security
from yt_local.security.acl import OWNER
from yt_local.security.permissions import SCHEMAS, UNLIMITED
from yt_local.security.subjects import EVERYONE, GUEST, ROOT, SUPERUSERS, USERS, Subjects
from yt_local.store.state import ClusterState

TOKENS_PATH: Final = "//sys/cypress_tokens"
ADMINS: Final = "admins"
QUEUE_AGENT: Final = "queue_agent"

_MEMBERS: Final = (
    (EVERYONE, USERS),
    (EVERYONE, GUEST),
    (USERS, SUPERUSERS),
    (USERS, ADMINS),
    (USERS, OWNER),
    (USERS, QUEUE_AGENT),
    (SUPERUSERS, ROOT),
    (SUPERUSERS, QUEUE_AGENT),
)


def _allow(subject: str, *permissions: str) -> dict[str, Any]:
    return {"action": "allow", "subjects": [subject], "permissions": list(permissions)}


_CHANGE: Final = ("write", "remove", "administer", "mount")

# Beyond what a real cluster has at first, users may work under //home, and mount: there is no administrator to ask.
_ACLS: Final[Mapping[str, Sequence[Mapping[str, Any]]]] = {
    "/": [_allow(EVERYONE, "read"), _allow(ADMINS, *_CHANGE)],
    "//sys": [_allow(USERS, "read"), _allow(ADMINS, *_CHANGE)],
    "//tmp": [_allow(USERS, "read", "write", "remove", "mount")],
    "//home": [_allow(USERS, "read", "write", "remove", "mount")],
    TOKENS_PATH: [_allow(ADMINS, "read", "write", "remove")],
    "//sys/schemas/user": [_allow(USERS, "read"), _allow(ADMINS, "write", "remove", "create")],
    "//sys/schemas/group": [_allow(USERS, "read"), _allow(ADMINS, "write", "remove", "create")],
    "//sys/schemas/account": [
        _allow(USERS, "read"),
        _allow(ADMINS, "write", "remove", "create", "administer", "use"),
    ],
}
_WITHOUT_INHERITANCE: Final = ("//sys", TOKENS_PATH)


def create_access_control(state: ClusterState, cypress: Cypress, security: Security) -> None:
    """Make what access control needs, as far as a cluster does not have it yet; part of a change."""
    if cypress.exists(UNLIMITED, TOKENS_PATH):
        return
    subjects = Subjects(state)
    for path in ("//sys/schemas", TOKENS_PATH):
        cypress.create(UNLIMITED, path, "map_node", {})
    for kind, schema in SCHEMAS.items():
        cypress.create_object("//sys/schemas", schema, {"name": kind})
    for group in (EVERYONE, USERS, SUPERUSERS, ADMINS):
        security.create(UNLIMITED, "group", {"name": group})
    for user in (ROOT, GUEST, OWNER, QUEUE_AGENT):
        if subjects.find_user(user) is None:
            cypress.create_object("//sys/users", "user", {"name": user})
    for group, name in _MEMBERS:
        member = subjects.find(name)
        assert member is not None, "it has been made above"
        state.put_node(subjects.with_member(subjects.group(group), member))
    for path, acl in _ACLS.items():
        if cypress.exists(UNLIMITED, path) and not cypress.get(UNLIMITED, f"{path}/@acl"):
            cypress.set(UNLIMITED, f"{path}/@acl", list(acl))
    for path in _WITHOUT_INHERITANCE:
        cypress.set(UNLIMITED, f"{path}/@inherit_acl", False)
