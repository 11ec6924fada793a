"""Who may do what with a node: the state's side of access control, and the errors when something is denied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from yt_local.security.acl import OWNER, Ace, Level, Principal, Verdict, decide, decide_columns, effective
from yt_local.security.subjects import EVERYONE, ROOT, Subjects, entries_of
from yt_local.store.model import Node
from yt_local.store.state import TreeState
from yt_local.store.transaction_objects import OBJECT_TYPES as TRANSACTION_OBJECTS
from yt_wire.error import ErrorCode, YtError

CHANGE_CHILDREN: Final = ("write", "modify_children")
"""Either of them lets a user add and remove the children of a node."""

ACCESS_CONTROL: Final = frozenset({"acl", "inherit_acl"})
"""Attributes that say who may do what."""

SCHEMAS: Final[Mapping[str, str]] = {kind: f"schema:{kind}" for kind in ("user", "group", "account")}
"""Types of objects that inherit their access control from the schema of their type, and types of those schemas."""


_OF_TRANSACTIONS: Final = (Ace("allow", (EVERYONE,), ("read",)), Ace("allow", (OWNER,), ("write",)))
"""Everybody may look at transactions and locks; only who has begun a transaction gives it other attributes."""

_OUTSIDE: Final = (Ace("allow", (EVERYONE,), ("read",)),)
"""Of what has an id and no place in the tree, such as a chunk."""


class Paths(Protocol):
    """Which paths nodes have."""

    def node(self, path: str) -> Node:
        """The node at a path; YtError 500 if there is none."""
        ...

    def path_of(self, node: Node) -> str:
        """Where a node is."""
        ...


class Permissions:
    """Access control of one cluster, or of one view of it."""

    def __init__(self, state: TreeState, paths: Paths) -> None:
        self._state = state
        self._paths = paths
        self._subjects = Subjects(state)
        self._entries: dict[str, tuple[object, Sequence[Ace]]] = {}

    def access(self, user: str) -> Access:
        """What a user may do from now on; YtError 900 if there is no such user."""
        return Access(self._subjects.principal(user), self)

    def verdict(self, principal: Principal, node: Node, *permissions: str, vital: bool = False) -> Verdict:
        """Whether a user has one of the permissions on a node; `full_read` is none if a column may not be read."""
        verdict = decide(principal, frozenset(permissions), self._levels(node), self.owner_of(node), vital=vital)
        if verdict.allowed and set(permissions) == {"full_read"}:
            return next((one for one in self.column_verdicts(principal, node).values() if not one.allowed), verdict)
        return verdict

    def column_verdicts(
        self, principal: Principal, node: Node, columns: Iterable[str] | None = None
    ) -> Mapping[str, Verdict]:
        """As `decide_columns`."""
        return decide_columns(principal, self._levels(node), self.owner_of(node), columns)

    def owner_of(self, node: Node) -> str:
        return str(node.attributes.get("owner", ROOT))

    def effective_acl(self, node: Node) -> list[dict[str, Any]]:
        return [entry.to_yson() for entry in effective(self._levels(node))]

    def schema_of(self, kind: str) -> Node:
        """The schema of a type of objects, whose access control says who may create them."""
        return self._paths.node(f"//sys/schemas/{kind}")

    def children(self, node: Node) -> Sequence[Node]:
        return self._state.children(node.id)

    def object_name(self, node: Node) -> str:
        """A node as errors name it, e.g. `node //tmp/q` or `user "bob"`."""
        if node.type in SCHEMAS:
            return f'{node.type} "{node.name}"'
        if node.type in SCHEMAS.values():
            return f'"{node.name}" schema'
        if node.type in TRANSACTION_OBJECTS:
            return f"{node.type} {node.id}"
        return f"node {self._paths.path_of(node)}"

    def found_by(self, verdict: Verdict) -> tuple[Node, Node] | None:
        """The object and the subject of the entry that decided; None if no entry did."""
        if verdict.holder is None or verdict.subject is None:
            return None
        subject = self._subjects.find(verdict.subject)
        assert subject is not None, "entries are rid of subjects that go"
        holder = self._state.find_node(verdict.holder)
        return (holder, subject) if holder else None

    def denial(
        self, user: str, node: Node, permissions: Sequence[str], verdict: Verdict, column: str | None = None
    ) -> YtError:
        """The error 901 for a verdict that denies."""
        wanted = " | ".join(permissions)
        name = self.object_name(node)
        if column is not None:
            name = f'column "{column}" of {name}'
        start = f'Access denied for user "{user}": "{wanted}" permission for {name}'
        attributes: dict[str, Any] = {
            "permission": list(permissions),
            "user": user,
            "object_id": node.id,
            "object_name": name,
            "object_type": node.type,
        }
        decisive = self.found_by(verdict)
        if decisive is None:
            return YtError(f"{start} is not allowed by any matching ACE", ErrorCode.AUTHORIZATION, attributes)
        holder, subject = decisive
        return YtError(
            f'{start} is denied for "{subject.name}" by ACE at {self.object_name(holder)}',
            ErrorCode.AUTHORIZATION,
            {**attributes, "denied_by": holder.id, "denied_for": subject.id},
        )

    def _levels(self, node: Node) -> Iterator[Level]:
        current: Node | None = node
        if node.type in TRANSACTION_OBJECTS:
            yield Level(node.id, _OF_TRANSACTIONS)
            return
        while current is not None:
            yield Level(current.id, self._entries_of(current))
            if current.attributes.get("inherit_acl") is False:
                return
            parent = self._parent_of(current)
            if parent is None and not self._is_top(current):
                yield Level(current.id, _OUTSIDE)
            current = parent

    def _is_top(self, node: Node) -> bool:
        root = self._state.root
        return node.type in SCHEMAS.values() or (root is not None and node.id == root.id)

    def _parent_of(self, node: Node) -> Node | None:
        if node.type in SCHEMAS:
            return self.schema_of(node.type)
        if node.type in SCHEMAS.values() or node.parent_id is None:
            return None
        return self._state.node(node.parent_id)

    def _entries_of(self, node: Node) -> Sequence[Ace]:
        acl = node.attributes.get("acl")
        if not acl:
            return ()
        known = self._entries.get(node.id)
        if known is None or known[0] is not acl:
            known = self._entries[node.id] = acl, entries_of(node)
        return known[1]


Check: TypeAlias = Callable[[Node], None]
"""Raises YtError 901 if a node is not to be used."""


def UNCHECKED(node: Node) -> None:  # noqa: N802 - it is used like a constant
    """For nodes that have been checked before, or that are read for the cluster itself."""


class Access:
    """What one user may do with the nodes of one cluster.

    Args:
        principal: the user, as of the moment the request came.
        permissions: of the cluster; None for a superuser, who needs none.
    """

    def __init__(self, principal: Principal, permissions: Permissions | None = None) -> None:
        self.principal = principal
        self._permissions = permissions
        self.unlimited = principal.is_superuser and not principal.is_banned

    @property
    def user(self) -> str:
        return self.principal.name

    def to(self, permission: str) -> Check:
        """What `OpenTables.open` needs to know: raises YtError 901 for nodes without the permission."""
        return lambda node: self.check(node, permission)

    def allows(self, node: Node, *permissions: str, vital: bool = False) -> bool:
        """Whether the user has one of the permissions on a node."""
        if self.unlimited:
            return True
        assert self._permissions is not None
        return self._permissions.verdict(self.principal, node, *permissions, vital=vital).allowed

    def check(self, node: Node, *permissions: str, vital: bool = False) -> None:
        """YtError 901 unless the user has one of the permissions on a node."""
        if self.unlimited:
            return
        assert self._permissions is not None
        verdict = self._permissions.verdict(self.principal, node, *permissions, vital=vital)
        if not verdict.allowed:
            raise self._permissions.denial(self.user, node, permissions, verdict)

    def denied_columns(self, node: Node, columns: Iterable[str] | None) -> Mapping[str, YtError]:
        """The columns of a table that the user may not read, with errors 901.

        Args:
            node: the table, which the user may read.
            columns: those that are wanted; None: whatever there is.
        """
        if self.unlimited:
            return {}
        assert self._permissions is not None
        if columns is None and node.table is not None and node.table.schema.strict:
            columns = [column.name for column in node.table.schema.columns]
        verdicts = self._permissions.column_verdicts(self.principal, node, columns)
        return {
            name: self._permissions.denial(self.user, node, ["read"], verdict, name)
            for name, verdict in verdicts.items()
            if not verdict.allowed
        }

    def check_columns(self, node: Node, columns: Iterable[str] | None = None) -> None:
        """YtError 901 unless the user may read columns of a table; None: whatever there is."""
        for error in self.denied_columns(node, columns).values():
            raise error

    def check_subtree(self, node: Node, permission: str) -> None:
        """YtError 901 unless the user has the permission on a node and on all below it."""
        if not self.unlimited:
            self.check(node, permission)
            self.check_below(node, permission)

    def check_below(self, node: Node, permission: str) -> None:
        """YtError 901 unless the user has the permission on all below a node."""
        if not self.unlimited:
            assert self._permissions is not None
            for child in self._permissions.children(node):
                self.check_subtree(child, permission)

    def check_creation(self, kind: str) -> None:
        """YtError 901 unless the user may create objects of a type that has no place in the tree of its own."""
        if not self.unlimited:
            assert self._permissions is not None
            self.check(self._permissions.schema_of(kind), "create")

    def check_owner(self, name: str, value: Any) -> None:
        """YtError 901 if an attribute that is to be set is the owner, and makes somebody else one."""
        if name == "owner" and not self.unlimited and value != self.user:
            raise YtError("Access denied: can only set owner to self", ErrorCode.AUTHORIZATION)

    def check_reversible(self, node: Node) -> None:
        """YtError 909 if the user could not undo a change of this node's access control that has just been made."""
        if not self.allows(node, "administer"):
            raise YtError(
                'It will be impossible for this user to revert this modification, the "force" option should be'
                " specified",
                ErrorCode.IRREVERSIBLE_ACL_MODIFICATION,
            )


def attribute_permission(name: str) -> str:
    """What a user needs to set or remove an attribute."""
    return "administer" if name in ACCESS_CONTROL else "write"


UNLIMITED: Final = Access(Principal(ROOT, frozenset(), is_superuser=True))
"""What is done without anybody asking for it is done as root."""
