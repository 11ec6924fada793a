"""Tablet cells, their bundles, and media: objects that are created by attributes, without a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from yt_local.base.clock import format_instant
from yt_local.cypress.transaction_attributes import Computed
from yt_local.security.permissions import Access
from yt_local.store.model import Node, Tablet
from yt_local.store.state import TreeState
from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

BUNDLE: Final = "tablet_cell_bundle"
CELL: Final = "tablet_cell"
MEDIUM: Final = "medium"

CREATABLE_OBJECTS: Final[Mapping[str, str]] = {
    BUNDLE: BUNDLE,
    CELL: CELL,
    MEDIUM: MEDIUM,
    "domestic_medium": MEDIUM,  # its name on masters since there are media of other kinds
}
"""Types of nodes by the types that clients ask for."""

OBJECT_NAMES: Final[Mapping[str, str]] = {"tablet_cell_bundle": BUNDLE, "primary_medium": MEDIUM}
"""Attributes of tables and files that name one, and its kind."""

_MAPS: Final = {BUNDLE: "tablet_cell_bundles", CELL: "tablet_cells", MEDIUM: "media"}
_DEFAULT: Final = "default"
"""Name of the bundle and of the medium that every cluster has."""


def find_system_object(state: TreeState, kind: str, name: str) -> Node | None:
    """A bundle or medium by its name, or a cell by its id."""
    parent = _map_of(state, kind)
    return None if parent is None else state.child(parent.id, name)


def check_system_object(state: TreeState, kind: str, name: str) -> None:
    """YtError unless there is a bundle or medium of this name."""
    if find_system_object(state, kind, name) is None:
        code = ErrorCode.NO_SUCH_MEDIUM if kind == MEDIUM else ErrorCode.RESOLVE
        raise YtError(f'No such {kind.replace("_", " ")} "{name}"', code)


def create_system_object(
    state: TreeState, access: Access, kind: str, attributes: Mapping[str, Any], *, ignore_existing: bool = False
) -> str:
    """Make an object and return its id, or that of the existing one with `ignore_existing`; part of a change.

    Args:
        state: outside of transactions.
        access: of who asks; superusers alone may.
        kind: one of the values of `CREATABLE_OBJECTS`.
        attributes: `name` of a bundle or medium, `tablet_cell_bundle` of a cell; others are kept.
    """
    if not access.unlimited:
        raise YtError(
            f'Access denied for user "{access.user}": "create" permission for "{kind}" schema is not allowed by any'
            " matching ACE",
            ErrorCode.AUTHORIZATION,
        )
    parent = _map_of(state, kind)
    assert parent is not None, "a started cluster has it"
    object_id = state.ids.next(kind)
    given = dict(attributes)
    name = object_id
    if kind == CELL:
        given = {**given, **_cell_attributes(state, given)}
    else:
        name = given.pop("name", None)
        if not isinstance(name, str) or not name:
            raise YtError(
                f'Attribute "name" of a new {kind} must be a string that is not empty, got {yson.shown(name)}'
            )
        existing = state.child(parent.id, name)
        if existing is not None and ignore_existing:
            return existing.id
        if existing is not None:
            shown = kind.replace("_", " ").capitalize()
            raise YtError(f'{shown} "{name}" already exists', ErrorCode.ALREADY_EXISTS)
        given = {"name": name, **({"health": "good"} if kind == BUNDLE else {}), **given}
    state.put_node(_object_node(state, kind, object_id, parent.id, str(name), given))
    return object_id


def check_unneeded(state: TreeState, node: Node) -> None:
    """YtError if an object of these kinds cannot be removed."""
    if node.type in (BUNDLE, MEDIUM) and node.name == _DEFAULT:
        raise YtError(f'Cannot remove a built-in {node.type.replace("_", " ")} "{node.name}"')
    if node.type == BUNDLE and (count := len(cells_of(state, node.name))):
        raise YtError(f'Cannot remove tablet cell bundle "{node.name}" since it has {count} active tablet cell(s)')
    if node.type == CELL and (tablets := _tablets_of(state, node)) and not _others(state, node):
        raise YtError(
            f'Cannot remove tablet cell {node.id} since it has {len(tablets)} tablet(s) and bundle "{bundle_of(node)}" '
            "has no other cell for them; unmount them first"
        )


def vacate(state: TreeState, cell: Node) -> None:
    """Move the tablets of a cell that is about to be removed to the others of its bundle; part of a change."""
    cells = _others(state, cell)
    for tablet in _tablets_of(state, cell):
        moved = replace(tablet, cell_id=cells[tablet.number % len(cells)].id, mount_revision=state.next_revision())
        state.committed.tablets.put(moved)


def cells_of(state: TreeState, bundle: str) -> Sequence[Node]:
    """The tablet cells of a bundle, in the order of their ids."""
    parent = _map_of(state, CELL)
    cells = () if parent is None else state.children(parent.id)
    return [cell for cell in cells if bundle_of(cell) == bundle]


def bundle_of(cell: Node) -> str:
    """Name of the bundle that a tablet cell belongs to."""
    return str(cell.attributes.get(BUNDLE, _DEFAULT))


def cell_attributes(state: TreeState) -> Mapping[str, Computed]:
    """Computed attributes of tablet cells, by name."""
    return {
        "state": (_is_cell, lambda cell: cell.attributes.get("health")),
        "status": (_is_cell, lambda cell: {"health": cell.attributes.get("health"), "decommissioned": False}),
        "tablet_count": (_is_cell, lambda cell: _tablet_count(state, cell)),
        "total_statistics": (_is_cell, lambda cell: {"tablet_count": _tablet_count(state, cell)}),
    }


def _is_cell(node: Node) -> bool:
    return node.type == CELL


def _tablet_count(state: TreeState, cell: Node) -> int:
    return len(_tablets_of(state, cell))


def _tablets_of(state: TreeState, cell: Node) -> list[Tablet]:
    tablets = (tablet for table in state.tables() for tablet in state.committed.tablets.of(table.id))
    return [tablet for tablet in tablets if tablet.cell_id == cell.id]


def _others(state: TreeState, cell: Node) -> list[Node]:
    return [other for other in cells_of(state, bundle_of(cell)) if other.id != cell.id]


def _cell_attributes(state: TreeState, given: Mapping[str, Any]) -> dict[str, Any]:
    """A new cell is at work at once, where the first one is."""
    bundle = given.get(BUNDLE, _DEFAULT)
    check_system_object(state, BUNDLE, bundle)
    cells = _map_of(state, CELL)
    first = next(iter(state.children(cells.id)), None) if cells else None
    return {BUNDLE: bundle, "health": "good", "peers": first.attributes.get("peers", []) if first else []}


def _object_node(
    state: TreeState, kind: str, object_id: str, parent_id: str, name: str, attributes: Mapping[str, Any]
) -> Node:
    revision, now = state.next_revision(), format_instant(state.clock.now())
    return Node(object_id, kind, parent_id, name, now, now, revision, revision, revision, attributes=attributes)


def _map_of(state: TreeState, kind: str) -> Node | None:
    root = state.root
    system = None if root is None else state.child(root.id, "sys")
    return None if system is None else state.child(system.id, _MAPS[kind])
