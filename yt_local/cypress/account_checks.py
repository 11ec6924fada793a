"""What limits of accounts refuse.

Who has set no limits has none, so that nothing is counted for most clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from yt_local.cypress.account_attributes import UsageOf, account_of
from yt_local.cypress.account_limits import PER_MEDIUM, RESOURCE_LIMITS
from yt_local.cypress.account_tree import AccountTree, is_limited, parent_of
from yt_local.security.subjects import BUILTIN_ACCOUNTS
from yt_local.store.charges import Usage
from yt_local.store.model import Node
from yt_wire.error import ErrorCode, YtError

_DEFAULT_MEDIUM: Final = "default"
_COUNTED: Final[Mapping[str, str]] = {
    "node_count": "Cypress node count",
    "chunk_count": "chunk count",
    "tablet_count": "tablet count",
}
"""Words of errors by the key of a limit; besides there is the disk space of each medium."""

_Usages = Mapping[str, Usage]


class AccountLimits:
    """Refuses what would bring an account, with those below it, over its limits.

    Args:
        tree: the accounts.
        usage_of: usage of an account; what open transactions have made counts, so that several stay within limits.
    """

    def __init__(self, tree: AccountTree, usage_of: UsageOf) -> None:
        self._tree = tree
        self._usage_of = usage_of

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Around a part of a change.

        Raises:
            YtError: 902: an account with limits has more than before, and more than it may have; the change is to be
                given up.
        """
        limited = {name: self._tree.subtree(name) for name in self._limited()}
        if not limited:
            yield
            return
        before = self._usages(limited.values())
        yield
        now = self._usages(limited.values())
        limits = self._limited()
        for name in limited:
            names = self._tree.subtree(name)
            words = f'{self._relation(name, before, now)} "{name}"'
            _check(words, limits[name], _sum(names, before), _sum(names, now))

    def check_rows(self, table: Node) -> None:
        """YtError 902 if the account of a dynamic table has more than it may: then no rows of it can be changed."""
        limited = self._limited()
        if not limited:
            return
        for account in self._tree.lineage(self._tree.get(account_of(table))):
            if account.name in limited:
                names = self._tree.subtree(account.name)
                _check_present(account.name, limited[account.name], _sum(names, self._usages([names])))

    def check_removal(self, account: Node) -> None:
        """YtError if an account is needed."""
        if account.name in BUILTIN_ACCOUNTS:
            raise YtError(f'Cannot remove a built-in account "{account.name}"')
        if children := self._tree.children(account.name):
            raise YtError(f'Cannot remove account "{account.name}" since "{children[0].name}" is below it')
        if self._usage_of(account.name) != Usage():
            raise YtError(f'Cannot remove an account "{account.name}" because its usage is not zero')

    def _limited(self) -> dict[str, Mapping[str, Any]]:
        return {
            account.name: account.attributes[RESOURCE_LIMITS]
            for account in self._tree.all()
            if RESOURCE_LIMITS in account.attributes and is_limited(account)
        }

    def _usages(self, subtrees: Iterable[Iterable[str]]) -> dict[str, Usage]:
        return {name: self._usage_of(name) for names in subtrees for name in names}

    def _relation(self, name: str, before: _Usages, now: _Usages) -> str:
        """What an account is to the one that the change is charged to."""
        changed = {charged for charged, usage in now.items() if usage != before.get(charged, Usage())}
        if name in changed:
            return "Account"
        parents = {parent_of(account) for account in self._tree.all() if account.name in changed}
        return "Parent account" if name in parents else "Ancestor account"


def _sum(names: Iterable[str], usages: _Usages) -> Usage:
    return sum((usages.get(name, Usage()) for name in names), Usage())


def _check_present(name: str, limits: Mapping[str, Any], usage: Usage) -> None:
    if usage.chunk_count > limits["chunk_count"]:
        raise _exceeded(f'Account "{name}" violates chunk count limit', usage.chunk_count, limits["chunk_count"])
    limit = limits[PER_MEDIUM].get(_DEFAULT_MEDIUM, 0)
    if usage.disk_space > limit:
        words = f'Account "{name}" violates disk space limit for medium "{_DEFAULT_MEDIUM}"'
        raise _exceeded(words, usage.disk_space, limit)


def _check(account: str, limits: Mapping[str, Any], before: Usage, now: Usage) -> None:
    for key, words in _COUNTED.items():
        used, limit = getattr(now, key), limits[key]
        if used > max(getattr(before, key), limit):
            raise _exceeded(f"{account} is over {words} limit", used, limit)
    limit = limits[PER_MEDIUM].get(_DEFAULT_MEDIUM, 0)
    if now.disk_space > max(before.disk_space, limit):
        words = f'{account} is over disk space limit in medium "{_DEFAULT_MEDIUM}"'
        raise _exceeded(words, now.disk_space, limit)


def _exceeded(message: str, wanted: int, limit: int) -> YtError:
    return YtError(message, ErrorCode.ACCOUNT_LIMIT_EXCEEDED, attributes={"usage": wanted, "limit": limit})
