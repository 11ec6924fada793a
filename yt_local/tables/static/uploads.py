"""Writing content: chunks are kept as they fill, and become part of a table or file all at once or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from yt_local.cypress.attributes import instant
from yt_local.cypress.cypress_view import CypressView
from yt_local.store.locks import EXCLUSIVE, SHARED
from yt_local.store.model import Content, Node, TableState
from yt_local.tables.static.chunk_writer import FinishedChunk
from yt_wire.error import ErrorCode, YtError


class Upload:
    """Content on its way into one node.

    Nobody sees any of it before `commit`. Whoever leaves the context without has changed nothing.

    Args:
        find_view: gives the tree as whoever writes sees it, at the moment of asking; YtError 11000 if that was a
            transaction that is gone.
        user: who writes.
        node: what is written to, as it is now.
        append: behind what is there, not in its place.
        exclusive: nobody else may be at it.

    Raises:
        YtError: 402 if somebody else is at it, 901 if the user may not write.
    """

    def __init__(
        self, find_view: Callable[[], CypressView], user: str, node: Node, *, append: bool, exclusive: bool
    ) -> None:
        self._find_view = find_view
        self._user = user
        self._node = node
        self._append = append
        self._request = EXCLUSIVE if exclusive else SHARED
        self._exclusive = exclusive
        self._chunk_ids: list[str] = []
        view = find_view()
        self._committed = view.state.committed
        self._check(view, node)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._committed.chunks.unpin(self._chunk_ids)

    def next_chunk_id(self) -> str:
        return self._committed.ids.next("chunk")

    def keep(self, finished: FinishedChunk | None) -> None:
        """Store a chunk, if there is one."""
        if finished is None:
            return
        with self._committed.change():
            stamp = self._committed.timestamps.last
            chunk = replace(finished.chunk, min_timestamp=stamp, max_timestamp=stamp)
            self._committed.chunks.put(chunk, finished.blobs)
        self._committed.chunks.pin([chunk.id])
        self._chunk_ids.append(chunk.id)

    def commit(
        self, *, table: TableState | None = None, md5: str | None = None, attributes: Mapping[str, Any] | None = None
    ) -> None:
        """Make what was kept part of the node.

        Args:
            table: what the table is to become; None for files.
            md5: of the whole file, if it is known.
            attributes: to set on the node.

        Raises:
            YtError: the node or the transaction is gone, or somebody else has changed what the content builds on.
        """
        view = self._find_view()
        with view.state.change(), view.attributes.limits.kept():
            node = view.state.find_node(self._node.id)
            if node is None:
                raise YtError(f"No such object {self._node.id}", ErrorCode.RESOLVE)
            self._check(view, node)
            builds_on_it = self._append and self._exclusive
            if node.table != self._node.table or (builds_on_it and node.content != self._node.content):
                raise YtError(
                    f"{view.resolver.path_of(node)} has been changed while it was written to",
                    ErrorCode.CYPRESS_LOCK_CONFLICT,
                )
            view.state.lock(node, self._request)
            put_content(view, node, self._chunk_ids, append=self._append, table=table, md5=md5, attributes=attributes)

    def _check(self, view: CypressView, node: Node) -> None:
        view.permissions.access(self._user).check(node, "write")
        view.state.committed.versions.check(
            node.id, self._request, view.state.transaction_id, lambda: view.resolver.path_of(node)
        )


def put_content(
    view: CypressView,
    node: Node,
    chunk_ids: Sequence[str],
    *,
    append: bool,
    table: TableState | None = None,
    md5: str | None = None,
    attributes: Mapping[str, Any] | None = None,
) -> None:
    """Give a node that is locked these chunks, behind its own or in their place; part of a change."""
    before = node.content.chunk_ids if append else ()
    content = Content((*before, *chunk_ids), md5, _appended_count(view, node, len(chunk_ids), append=append))
    revision = view.state.next_revision()
    node = replace(
        node,
        content=content,
        table=table,
        revision=revision,
        content_revision=revision,
        modification_time=instant(view.state),
    )
    for name, value in (attributes or {}).items():
        node = view.attributes.with_value(node, name, value)
    view.state.put_node(node)


def _appended_count(view: CypressView, node: Node, added: int, *, append: bool) -> int | None:
    """See `Content`: what the transaction has added to the node, with what it adds now."""
    if view.state.transaction_id is None:
        return 0
    if not append:
        return None
    branch = view.state.versions.branches_of(node.id).get(view.state.transaction_id)
    earlier = branch.node.content.appended_count if branch and branch.replaced else 0
    return None if earlier is None else earlier + added
