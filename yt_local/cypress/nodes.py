"""New nodes, and the values they may be given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from yt_local.base.ids import OBJECT_TYPES
from yt_local.cypress.alteration import validate_dynamic_schema
from yt_local.cypress.attributes import instant
from yt_local.rows.computed_columns import validate_computed_columns
from yt_local.schema.schema import TableSchema, parse_schema
from yt_local.security.permissions import Access
from yt_local.store.model import LIST, Node, TableState
from yt_local.store.replicated_types import CHAOS_REPLICATED_TABLE, NO_REPLICA, REPLICATED_TABLE
from yt_local.store.state import TreeState
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError
from yt_wire.guid import Guid

SCALARS: Final = {
    "string_node": "",
    "int64_node": 0,
    "uint64_node": yson.Uint64(0),
    "double_node": 0.0,
    "boolean_node": False,
}
MAX_DEPTH: Final = 200
"""Levels below the root: clients read values that are nested some 250 levels deep, and none beyond."""

MAX_STRING_LENGTH: Final = 64 * 2**10
"""Bytes of a string node, as a real cluster has it by default; documents and attributes may have longer ones."""

MAX_NAME_LENGTH: Final = 4 * 2**10
"""Bytes of a node's name, as a real cluster has it by default."""

ORCHID: Final = "orchid"
"""Type of nodes below which there is what a server elsewhere shows."""

REMOTE_ADDRESSES: Final = "remote_addresses"
"""Attribute of such nodes: addresses of the server by network."""

CREATABLE: Final = frozenset(
    {
        *SCALARS,
        "map_node",
        "list_node",
        "document",
        "table",
        REPLICATED_TABLE,
        CHAOS_REPLICATED_TABLE,
        "file",
        "link",
        ORCHID,
    }
)
CREATION_ONLY: Final = frozenset(
    {
        *("dynamic", "schema", "tablet_count", "pivot_keys", "trimmed_row_counts", "cumulative_data_weights"),
        *("target_path", "external", "external_cell_bias"),
    }
)
BUILTIN_NODES: Final = frozenset(
    {
        "//sys",
        *(
            f"//sys/{name}"
            for name in (
                "accounts",
                "clusters",
                "cypress_tokens",
                "groups",
                "schemas",
                "tablet_cell_bundles",
                "tablet_cells",
                "users",
            )
        ),
    }
)
"""What a cluster cannot be without; a real one keeps most of this in places that are no ordinary nodes."""


MAX_CHILD_COUNT: Final = 50_000
"""Items of a list, as a real cluster has it by default."""


def check_external(access: Access, attributes: Mapping[str, Any]) -> None:
    """YtError if a node is to be kept by another cell of masters, or if that is not for the user to say."""
    external = yson.as_boolean(attributes.get("external"))
    if external is None:
        return
    if not isinstance(external, bool):
        raise YtError(f'Attribute "external" must be a boolean, got {yson.shown(external)}')
    if external:
        raise YtError("No secondary masters registered")
    if not access.unlimited:
        raise YtError(
            f'User "{access.user}" is not allowed to create explicitly non-external nodes. Perhaps you should remove'
            ' attribute "external"'
        )


def check_addresses(attributes: Mapping[str, Any]) -> None:
    """YtError if an orchid node cannot be created with these attributes."""
    addresses = attributes.get(REMOTE_ADDRESSES)
    if not isinstance(addresses, Mapping) or not all(isinstance(address, str) for address in addresses.values()):
        raise YtError(f'Attribute "{REMOTE_ADDRESSES}" of an orchid node must be a map of addresses')


def new_node(state: TreeState, node_type: str, parent_id: str | None, name: str) -> Node:
    """A node of the type with an empty value and its parent's account; not attached yet.

    An item of a list has its id for a name, whatever name is given.

    Raises:
        YtError: it would be deeper down than `MAX_DEPTH`; 505 if its name is too long.
    """
    assert node_type in OBJECT_TYPES
    _check_depth(state, parent_id)
    if len(name.encode()) > MAX_NAME_LENGTH:
        raise YtError(f"Nodes cannot have names of more than {MAX_NAME_LENGTH} bytes", ErrorCode.MAX_KEY_LENGTH)
    revision = state.next_revision()
    now = instant(state)
    parent = None if parent_id is None else state.node(parent_id)
    around = {} if parent is None else parent.attributes
    node_id = state.ids.next(node_type)
    return Node(
        id=node_id,
        type=node_type,
        parent_id=parent_id,
        name=node_id if parent and parent.type == LIST else name,
        creation_time=now,
        modification_time=now,
        revision=revision,
        attribute_revision=revision,
        content_revision=revision,
        value=SCALARS.get(node_type),
        attributes={"account": around["account"]} if "account" in around else {},
    )


def renewed(state: TreeState, node: Node, *, attributes: bool = False) -> Node:
    """The node as one that has just been changed: in its attributes, or else in its content."""
    revision = state.next_revision()
    return replace(
        node,
        revision=revision,
        attribute_revision=revision if attributes else node.attribute_revision,
        content_revision=node.content_revision if attributes else revision,
        modification_time=instant(state),
    )


def _check_depth(state: TreeState, parent_id: str | None) -> None:
    depth = 0
    while parent_id is not None:
        depth += 1
        parent_id = state.node(parent_id).parent_id
    if depth > MAX_DEPTH:
        raise YtError(f"Nodes cannot be more than {MAX_DEPTH} levels below the root")


def node_type_of(value: Any) -> str:
    """Type of the node that `set` makes of a value; YtError if there is none, or 503 if a string is too long for it."""
    match yson.plain(value):  # a boolean with attributes is no bool
        case bool():
            return "boolean_node"
        case yson.Uint64():
            return "uint64_node"
        case int():
            return "int64_node"
        case float():
            return "double_node"
        case dict():
            return "map_node"
        case list():
            return "list_node"
    if yson.is_string(value):
        length = len(yson.bytes_of(value))
        if length > MAX_STRING_LENGTH:
            message = f"String node length limit exceeded: {length} > {MAX_STRING_LENGTH}"
            raise YtError(message, ErrorCode.MAX_STRING_LENGTH)
        return "string_node"
    raise YtError("Entity nodes cannot be created")


def target_path(attributes: Mapping[str, Any]) -> str:
    """Where a link that is created with these attributes leads."""
    path = attributes.get("target_path")
    if not isinstance(path, str):
        raise YtError('Attribute "target_path" of a link must be a string')
    return str(path)


def child_name(key: Any) -> str:
    """A key of a map as name of a node; YtError if it can be none."""
    if not isinstance(key, str) or not key:
        raise YtError(f"A node cannot have a name that is {'empty' if isinstance(key, str) else 'not UTF-8'}")
    return key


def checked_value(node_type: str, value: Any) -> Any:
    """The value for a node of the type; YtError if it is of another one."""
    if node_type == "document":
        return value
    if node_type != "map_node" and node_type_of(value) == node_type:
        return yson.plain(value)
    raise YtError(f"A value of type {node_type_of(value)} cannot be given to a node of type {node_type}")


def table_state(node_type: str, attributes: Mapping[str, Any]) -> TableState | None:
    """What a table that is created with these attributes is like; YtError if it cannot be so.

    A chaos replicated table need not have a schema; None stands for that.
    """
    dynamic = yson.as_boolean(attributes.get("dynamic", False))
    if not isinstance(dynamic, bool):
        raise YtError('Attribute "dynamic" must be a boolean')
    given = attributes.get("schema")
    if node_type == CHAOS_REPLICATED_TABLE:
        return None if given is None else TableState(parse_schema(given), dynamic=True)
    if given is None and dynamic:
        raise YtError('"schema" is mandatory for dynamic tables')
    if node_type == REPLICATED_TABLE and not dynamic:
        raise YtError("Replicated table must be dynamic")
    schema = parse_schema(given) if given is not None else TableSchema(columns=(), strict=False, unique_keys=False)
    if dynamic:
        if schema.is_sorted:
            # Keys of dynamic tables are unique whatever a schema says: foreign-clients.md §9.
            schema = replace(schema, unique_keys=True)
        validate_dynamic_schema(schema)
    else:
        validate_computed_columns(schema)
    return TableState(schema, dynamic, weak=not dynamic and not schema.columns and not schema.strict)


def checked_upstream(node: Node, replica_id: Any) -> str:
    """The id of the replica a table is to be; YtError if it can be none, or this is no id."""
    if not isinstance(replica_id, str):
        raise YtError(f'Attribute "upstream_replica_id" must be an id, got {yson.shown(replica_id)}')
    try:
        upstream = str(Guid.parse(replica_id))
    except ValueError as error:
        raise YtError(f'Attribute "upstream_replica_id" must be an id, got {yson.shown(replica_id)}') from error
    if upstream != NO_REPLICA and (node.type != "table" or node.table is None or not node.table.dynamic):
        raise YtError("Upstream replica can only be set for dynamic tables that are not replicated themselves")
    return upstream
