"""Usage of accounts: counted when somebody first asks, and from then on kept up to date by each change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from yt_local.store.chunks import Chunk
from yt_local.store.model import Branch, Content, Node
from yt_local.store.replicated_types import TABLE_REPLICA

DEFAULT_ACCOUNT: Final = "tmp"
"""Account of nodes that name none."""

_FREE: Final = frozenset({"user", "group", "account", "tablet_cell", "tablet_cell_bundle", "medium", TABLE_REPLICA})
"""Objects of the system: nobody is charged for them."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What nodes cost their account; `disk_space` in bytes, all on the default medium."""

    node_count: int = 0
    chunk_count: int = 0
    tablet_count: int = 0
    disk_space: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.node_count + other.node_count,
            self.chunk_count + other.chunk_count,
            self.tablet_count + other.tablet_count,
            self.disk_space + other.disk_space,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            self.node_count - other.node_count,
            self.chunk_count - other.chunk_count,
            self.tablet_count - other.tablet_count,
            self.disk_space - other.disk_space,
        )


@dataclass(frozen=True, slots=True)
class Charge:
    """What one node costs, without the tablets and rows of a dynamic table: those change without it."""

    account: str
    usage: Usage
    """With what transactions have made of it, from the moment they did, as on real clusters."""

    committed: Usage
    """What it costs outside of transactions."""

    is_dynamic: bool


@dataclass(slots=True)
class _Total:
    usage: Usage = Usage()
    committed: Usage = Usage()
    dynamic: dict[str, None] = field(default_factory=dict)
    """Ids of dynamic tables, as a set that keeps its order."""


class Charges:
    """Usage by account.

    Args:
        nodes: all nodes by id, those that only transactions see included.
        branches_of: versions of a node in transactions.
        find_chunk: by id.
    """

    def __init__(
        self,
        nodes: Mapping[str, Node],
        branches_of: Callable[[str], Mapping[str, Branch]],
        find_chunk: Callable[[str], Chunk | None],
    ) -> None:
        self._nodes = nodes
        self._branches_of = branches_of
        self._find_chunk = find_chunk
        self._charges: dict[str, Charge] | None = None
        self._totals: dict[str, _Total] = {}

    def refresh(self, node_id: str) -> None:
        """To be called after each change of a node or of a transaction's version of it."""
        if self._charges is None:
            return
        old, new = self._charges.get(node_id), self._charge(node_id)
        if old == new:
            return
        if old is not None:
            del self._charges[node_id]
            total = self._totals[old.account]
            total.usage -= old.usage
            total.committed -= old.committed
            total.dynamic.pop(node_id, None)
        if new is not None:
            self._add(node_id, new)

    def usage(self, account: str) -> Usage:
        """Usage of all nodes of an account, with what open transactions have made of them, without tablets."""
        return self._total(account).usage

    def committed_usage(self, account: str) -> Usage:
        """The part of `usage` that is outside of transactions."""
        return self._total(account).committed

    def dynamic_tables(self, account: str) -> list[Node]:
        """Tables whose tablets come on top, including those that only a transaction sees."""
        return [self._nodes[node_id] for node_id in self._total(account).dynamic]

    def _total(self, account: str) -> _Total:
        if self._charges is None:
            self._charges = {}
            for node_id in self._nodes:
                charge = self._charge(node_id)
                if charge is not None:
                    self._add(node_id, charge)
        return self._totals.get(account, _NOTHING)

    def _add(self, node_id: str, charge: Charge) -> None:
        assert self._charges is not None
        self._charges[node_id] = charge
        total = self._totals.setdefault(charge.account, _Total())
        total.usage += charge.usage
        total.committed += charge.committed
        if charge.is_dynamic:
            total.dynamic[node_id] = None

    def _charge(self, node_id: str) -> Charge | None:
        node = self._nodes.get(node_id)
        if node is None or node.type in _FREE:
            return None
        branches = self._branches_of(node_id).values()
        account = node.attributes.get("account")
        if account is None:  # one that a transaction has made has its attributes there
            account = next((made for branch in branches if (made := branch.attributes.get("account"))), DEFAULT_ACCOUNT)
        contents = [branch.node.content for branch in branches if branch.snapshot or branch.replaced]
        own = self._of_content(Counter(node.content.chunk_ids))
        usage = own if not contents else self._of_content(_united(node.content, *contents))
        is_made = node.parent_id is not None or not node.name
        return Charge(str(account), usage, own if is_made else Usage(), node.table is not None and node.table.dynamic)

    def _of_content(self, chunk_ids: Counter[str]) -> Usage:
        """Usage of a node with so many of each chunk."""
        if not chunk_ids:
            return _ONE
        found = [(self._find_chunk(chunk_id), count) for chunk_id, count in chunk_ids.items()]
        size = sum(count * chunk.uncompressed_data_size for chunk, count in found if chunk is not None)
        return Usage(1, chunk_ids.total(), 0, size)


_ONE: Final = Usage(1)
_NOTHING: Final = _Total()


def _united(*contents: Content) -> Counter[str]:
    """Chunks of all versions; a shared one counts once."""
    united = Counter[str]()
    for content in contents:
        united |= Counter(content.chunk_ids)
    return united
