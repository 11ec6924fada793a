"""Access control lists: what they say about a user and a permission; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from yt_wire import yson
from yt_wire.error import ErrorCode, YtError

Action: TypeAlias = Literal["allow", "deny"]

PERMISSIONS: Final = (
    "read",
    "write",
    "use",
    "administer",
    "create",
    "remove",
    "mount",
    "manage",
    "modify_children",
    "register_queue_consumer",
    "full_read",
)

OWNER: Final = "owner"
"""In an entry: whoever owns the object that is asked about."""

_REGISTER: Final = "register_queue_consumer"
_EVERYWHERE: Final = "object_and_descendants"
_INHERITED: Final[Mapping[str, tuple[str | None, str | None, str | None]]] = {
    _EVERYWHERE: (_EVERYWHERE, _EVERYWHERE, _EVERYWHERE),
    "object_only": ("object_only", None, None),
    "descendants_only": (None, _EVERYWHERE, _EVERYWHERE),
    "immediate_descendants_only": (None, "object_only", None),
}
"""What an entry amounts to at its own object, at a child, and further down."""


@dataclass(frozen=True, slots=True)
class Ace:
    """One entry of an access control list."""

    action: Action
    subjects: tuple[str, ...]
    permissions: tuple[str, ...]
    inheritance_mode: str = _EVERYWHERE
    vital: bool | None = None
    """Of `register_queue_consumer` alone: whether vital consumers, too, are meant."""

    columns: tuple[str, ...] | None = None
    """Of `read` alone: the columns of a table that the entry is about; it counts for nothing else."""

    def to_yson(self) -> dict[str, Any]:
        shown = {
            "action": self.action,
            "subjects": list(self.subjects),
            "permissions": list(self.permissions),
            "inheritance_mode": self.inheritance_mode,
        }
        if self.columns is not None:
            shown["columns"] = list(self.columns)
        return shown if self.vital is None else {**shown, "vital": self.vital}

    def at_depth(self, depth: int) -> Ace | None:
        """The entry as it counts for an object so far below its own; None if it does not."""
        mode = _INHERITED[self.inheritance_mode][min(depth, 2)]
        return replace(self, inheritance_mode=mode) if mode else None


@dataclass(frozen=True, slots=True)
class Level:
    """What an object of a lineage brings to the access control of the lowest one."""

    holder: str
    """Id of the object."""

    entries: Sequence[Ace]


@dataclass(frozen=True, slots=True)
class Principal:
    """A user as access control sees them."""

    name: str
    groups: AbstractSet[str]
    """All the user is in, directly or not."""

    is_superuser: bool = False
    is_banned: bool = False

    def is_meant_by(self, subject: str) -> bool:
        return subject == self.name or subject in self.groups


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer, and the entry it comes from, if it is one that decides."""

    action: Action
    holder: str | None = None
    """Id of the object that has the entry."""

    subject: str | None = None
    """Name of the entry's subject the user is meant by."""

    @property
    def allowed(self) -> bool:
        return self.action == "allow"


def decide(
    principal: Principal, permissions: AbstractSet[str], levels: Iterable[Level], owner: str, *, vital: bool = False
) -> Verdict:
    """Say whether a user has at least one of some permissions on an object.

    An entry that denies beats any that allow, wherever they are; without any that allows, the answer is no.

    Args:
        principal: the user.
        permissions: what is wanted; entries for any of these count.
        levels: the object's own entries, then those of its parent, and so on as far as entries are inherited.
        owner: of the object.
        vital: for `register_queue_consumer`, whether the consumer is to be a vital one.
    """
    if principal.is_banned:
        return Verdict("deny")
    if principal.is_superuser:
        return Verdict("allow")
    wanted = extended(permissions)
    counting = (
        (level, entry)
        for depth, level in enumerate(levels)
        for entry in level.entries
        if entry.columns is None and _counts(entry, depth, wanted, vital=vital)
    )
    return _decided(counting, principal, owner)


def decide_columns(
    principal: Principal, levels: Iterable[Level], owner: str, columns: Iterable[str] | None
) -> Mapping[str, Verdict]:
    """Whether a user may read columns, by name, as far as entries are about them; others are as their table is.

    Args:
        principal: the user.
        levels: as for `decide`.
        owner: of the table.
        columns: the columns that are asked about; None: all that entries are about.
    """
    asked = None if columns is None else frozenset(columns)
    counting: dict[str, list[tuple[Level, Ace]]] = {}
    for depth, level in enumerate(levels):
        for entry in level.entries:
            if entry.columns is not None and _INHERITED[entry.inheritance_mode][min(depth, 2)] is not None:
                for name in entry.columns:
                    if asked is None or name in asked:
                        counting.setdefault(name, []).append((level, entry))
    if principal.is_superuser and not principal.is_banned:
        return dict.fromkeys(counting, Verdict("allow"))
    return {name: _decided(entries, principal, owner) for name, entries in counting.items()}


def _decided(entries: Iterable[tuple[Level, Ace]], principal: Principal, owner: str) -> Verdict:
    verdict = Verdict("deny")
    for level, entry in entries:
        subject = _meant(entry, principal, owner)
        if subject is None:
            continue
        if entry.action == "deny":
            return Verdict("deny", level.holder, subject)
        if not verdict.allowed:
            verdict = Verdict("allow", level.holder, subject)
    return verdict


def extended(permissions: AbstractSet[str]) -> AbstractSet[str]:
    """With `full_read` where there is `read` and the other way round: without rules for columns they are one.

    Those rules are looked at apart from this: `decide_columns`.
    """
    return permissions | {"read", "full_read"} if permissions & {"read", "full_read"} else permissions


def effective(levels: Iterable[Level]) -> list[Ace]:
    """All entries that count for the lowest object, as if they were its own."""
    found = (entry.at_depth(depth) for depth, level in enumerate(levels) for entry in level.entries)
    return [entry for entry in found if entry]


def parse_acl(value: Any, name_of: Callable[[str], str | None]) -> tuple[Ace, ...]:
    """Read a list of entries.

    Args:
        value: as an attribute is set.
        name_of: the name of a subject given by name or alias; None if there is none.

    Raises:
        YtError: malformed, or 907 for a subject that does not exist.
    """
    return tuple(_resolved(entry, name_of) for entry in _entries(value))


def parse_known_acl(value: Any, name_of: Callable[[str], str | None]) -> tuple[tuple[Ace, ...], list[str]]:
    """Like `parse_acl`, leaving out subjects that do not exist, and those left out."""
    missing: list[str] = []
    kept = []
    for entry in _entries(value):
        missing += [name for name in entry.subjects if name_of(name) is None]
        known = tuple(found for name in entry.subjects if (found := name_of(name)) is not None)
        kept.append(replace(entry, subjects=known))
    return tuple(kept), missing


def without_subject(entries: Iterable[Ace], name: str) -> Iterator[Ace]:
    """The entries after a subject has ceased to be; those that were for it alone are gone."""
    for entry in entries:
        subjects = tuple(subject for subject in entry.subjects if subject != name)
        if subjects:
            yield replace(entry, subjects=subjects)


def with_renamed_subject(entries: Iterable[Ace], old: str, new: str) -> Iterator[Ace]:
    for entry in entries:
        yield replace(entry, subjects=tuple(new if subject == old else subject for subject in entry.subjects))


def check_permission_name(name: Any) -> str:
    """A permission as it is spelt; YtError if there is none of this name."""
    text = str(name) if isinstance(name, str) else name
    if text not in PERMISSIONS:
        raise YtError(f"Error parsing EPermission value {yson.shown(name)}")
    return str(text)


def _counts(entry: Ace, depth: int, wanted: AbstractSet[str], *, vital: bool) -> bool:
    return (
        _INHERITED[entry.inheritance_mode][min(depth, 2)] is not None
        and not wanted.isdisjoint(entry.permissions)
        and not (vital and entry.vital is False)
    )


def _meant(entry: Ace, principal: Principal, owner: str) -> str | None:
    for subject in entry.subjects:
        named = owner if subject == OWNER else subject
        if principal.is_meant_by(named):
            return named
    return None


def _resolved(entry: Ace, name_of: Callable[[str], str | None]) -> Ace:
    names = []
    for subject in entry.subjects:
        name = name_of(subject)
        if name is None:
            raise YtError(f'No such subject "{subject}"', ErrorCode.NO_SUCH_SUBJECT)
        names.append(name)
    return replace(entry, subjects=tuple(names))


def _entries(value: Any) -> Iterator[Ace]:
    if not isinstance(value, list):
        raise YtError(f"An access control list must be a list, got {yson.shown(value)}")
    for item in value:
        yield _entry(item)


def _entry(item: Any) -> Ace:
    if not isinstance(item, dict):
        raise YtError(f"An entry of an access control list must be a map, got {yson.shown(item)}")
    for name in ("row_access_predicate", "subject_tag_filter"):
        if not yson.is_null(item.get(name)):
            raise YtError(f'The local cluster does not know "{name}" in an entry of an access control list')
    action = str(_required(item, "action"))
    if action not in ("allow", "deny"):
        raise YtError(f"Error parsing ESecurityAction value {yson.shown(action)}")
    mode = str(item.get("inheritance_mode", _EVERYWHERE))
    if mode not in _INHERITED:
        raise YtError(f"Error parsing EAceInheritanceMode value {yson.shown(mode)}")
    permissions = tuple(dict.fromkeys(check_permission_name(name) for name in _names(item, "permissions")))
    entry = Ace(
        action="allow" if action == "allow" else "deny",
        subjects=tuple(_names(item, "subjects")),
        permissions=permissions,
        inheritance_mode=mode,
        vital=_vital(item),
        columns=None if yson.is_null(item.get("columns")) else tuple(dict.fromkeys(_names(item, "columns"))),
    )
    _check(entry)
    return entry


def _check(entry: Ace) -> None:
    if _REGISTER in entry.permissions and entry.vital is None:
        raise YtError(f'Permission "{_REGISTER}" requires vitality to be specified')
    if entry.vital is not None and entry.permissions != (_REGISTER,):
        found = " | ".join(entry.permissions)
        raise YtError(f'ACE specifying vitality must contain a single "{_REGISTER}" permission; found "{found}"')
    if entry.columns is not None and entry.permissions != ("read",):
        found = " | ".join(entry.permissions)
        raise YtError(f'ACE specifying columns must contain a single "read" permission; found "{found}"')
    if "full_read" in entry.permissions and entry.action == "deny":
        raise YtError('ACE with "full_read" permission may have only "allow" action; found "deny"')


def _vital(item: Mapping[str, Any]) -> bool | None:
    vital = item.get("vital")
    if yson.is_null(vital):
        return None
    plain = yson.as_boolean(yson.plain(vital))
    if not isinstance(plain, bool):
        raise YtError(f'"vital" must be a boolean, got {yson.shown(vital)}')
    return plain


def _names(item: Mapping[str, Any], key: str) -> list[str]:
    value = _required(item, key)
    # One name stands for a list of one.
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise YtError(
            f'"{key}" of an entry of an access control list must be a list of strings, got {yson.shown(value)}'
        )
    return [str(name) for name in names]


def _required(item: Mapping[str, Any], key: str) -> Any:
    if key not in item:
        raise YtError(f'Missing required key "{key}" in an entry of an access control list')
    return item[key]
