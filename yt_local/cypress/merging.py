"""What becomes of a transaction's branches when it is committed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from yt_local.store.model import Branch, Node
from yt_local.store.state import ClusterState


def merge_into_parent(state: ClusterState, branch: Branch, parent_id: str) -> None:
    """Make a branch of a nested transaction part of its parent's branch; a snapshot is forgotten."""
    if not branch.snapshot:
        node = _revised(state, branch.node)
        known = state.versions.branches_of(node.id).get(parent_id)
        merged = replace(branch, transaction_id=parent_id, node=node)
        if known:
            assert not known.snapshot, "below a snapshot nothing is changed"
            content = known.node
            if branch.replaced:
                added = node.content
                content = replace(node, content=added.merged_into(known.node.content) if known.replaced else added)
            merged = replace(
                merged,
                node=_with_content(node, content),
                replaced=known.replaced or branch.replaced,
                attributes={
                    **{
                        name: value for name, value in known.attributes.items() if name not in branch.removed_attributes
                    },
                    **branch.attributes,
                },
                removed_attributes=(known.removed_attributes - branch.attributes.keys()) | branch.removed_attributes,
                children={**known.children, **branch.children},
            )
        state.versions.put_branch(merged)
    state.delete_branch(branch)


def merge_into_tree(state: ClusterState, branches: Iterable[Branch]) -> None:
    """Make the branches of a topmost transaction visible to all; snapshots are forgotten."""
    branches = list(branches)
    for branch in branches:
        if not branch.snapshot:
            _merge_node(state, branch)
    for branch in branches:
        _merge_children(state, branch)
    for branch in branches:
        state.delete_branch(branch)


def _merge_node(state: ClusterState, branch: Branch) -> None:
    committed = state.node(branch.node.id)
    kept = {name: value for name, value in committed.attributes.items() if name not in branch.removed_attributes}
    content = committed
    if branch.replaced:
        # Others may have appended to it in the meantime.
        content = replace(branch.node, content=branch.node.content.merged_into(committed.content).settled)
    state.place_node(
        replace(
            _with_content(_revised(state, branch.node), content),
            parent_id=committed.parent_id,
            name=committed.name,
            modification_time=max(committed.modification_time, branch.node.modification_time),
            attributes={**kept, **branch.attributes},
        )
    )


def _merge_children(state: ClusterState, branch: Branch) -> None:
    if branch.snapshot:
        return
    for name, child_id in branch.children.items():
        known = state.child(branch.node.id, name)
        if known and known.id != child_id:
            state.remove_node(known)
        if child_id:
            state.place_node(replace(state.node(child_id), parent_id=branch.node.id, name=name))


def _revised(state: ClusterState, node: Node) -> Node:
    revision = state.next_revision()
    return replace(node, revision=revision, attribute_revision=revision, content_revision=revision)


def _with_content(node: Node, content: Node) -> Node:
    """The node with the value, table and so on of another version of it."""
    return replace(
        content,
        parent_id=node.parent_id,
        name=node.name,
        modification_time=node.modification_time,
        revision=node.revision,
        attribute_revision=node.attribute_revision,
        content_revision=node.content_revision,
        attributes=node.attributes,
    )
