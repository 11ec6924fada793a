"""Commands on the tree of nodes."""

from __future__ import annotations

from typing import Final

from yt_local.commands.manual.entry import Manual

_READING: Final = ("read_from", "cache_sticky_group_size", "expire_after_successful_update_time", "limit")
_RESOLVE: Final = "the path leads nowhere"
_LOCKED: Final = "another transaction has a lock that does not go with it (400 and 401: the own one, or a descendant)"
_EXISTS: Final = "something is there already, and neither `ignore_existing` nor `force` says what to do"
_LONG_STRING: Final = "a string is longer than 64 KiB"
_LONG_NAME: Final = "a name is longer than 4 KiB"
_COPYING: Final = ("enable_cross_cell_copying", "pessimistic_quota_check", "allow_secondary_index_abandonment")
_COPY_ERRORS: Final = {
    1: "into itself or below, or over what it is part of; replicated tables; mounted tables in a transaction",
    402: _LOCKED,
    500: "a path leads nowhere; the parent is missing and `recursive` is not given",
    501: _EXISTS,
    505: _LONG_NAME,
    1706: "a dynamic table below has tablets that are neither unmounted nor frozen",
}

MANUAL: Final[dict[str, Manual]] = {
    "get": Manual(
        "The value of a node, an attribute or a part of either.",
        "`{value=...}`; the bare value with `return_only_value`. Nodes below that may not be read are entities, "
        "and opaque ones too unless they are the root of the answer.",
        {500: _RESOLVE},
        ignored=_READING,
    ),
    "list": Manual(
        "The names of a node's children, or of its attributes.",
        "`{value=[name; ...]}`; names carry the attributes that were asked for, and the list is "
        "`<incomplete=%true>` beyond `max_size`.",
        {500: f"{_RESOLVE}, or to what has no children"},
        ignored=_READING,
    ),
    "exists": Manual(
        "Whether a path leads somewhere.",
        "`{value=bool}`; links that lead nowhere do not exist.",
        ignored=_READING,
    ),
    "create": Manual(
        "A node at a path, or an object without one (`user`, `group`, `account`, `table_replica`).",
        "`{node_id=id}` with a path, `{object_id=id}` without.",
        {
            1: "a type that is unknown; attributes that contradict each other or the type; a schema that is none",
            402: _LOCKED,
            500: "the parent is missing and `recursive` is not given",
            501: _EXISTS,
            503: _LONG_STRING,
            505: _LONG_NAME,
            905: "no such account",
        },
        refused="Types that only a real cluster has: `journal`, `tablet_cell`, `scheduler_pool`, ...",
        differs="`queue_consumer` and `queue_producer` make tables with their schemas and mark, and "
        "mount them, at once. A `chaos_replicated_table` is a node with attributes; it has no rows.",
    ),
    "set": Manual(
        "A new value for a document, a scalar, an attribute or, with `force`, a map node.",
        errors={
            1: "another type of node; a map node without `force`; an attribute that cannot be set "
            "or has no such values",
            402: _LOCKED,
            500: "the parent is missing and `recursive` is not given",
            503: _LONG_STRING,
            505: _LONG_NAME,
            905: "no such account",
        },
        ignored=("suppress_access_tracking", "suppress_modification_tracking"),
    ),
    "multiset_attributes": Manual(
        "Several attributes of one node, all or none.",
        errors={1: "the input is no map; an attribute that cannot be set or has no such values", 500: _RESOLVE},
    ),
    "remove": Manual(
        "A node with what is below it, or an attribute.",
        errors={
            1: "a map node that is not empty without `recursive`; a built-in node or attribute",
            402: _LOCKED,
            500: f"{_RESOLVE}, without `force`",
        },
    ),
    "copy": Manual(
        "A copy of a node and all below it; static tables and files share their chunks.",
        "`{node_id=id}` of the copy.",
        _COPY_ERRORS,
        ignored=_COPYING,
    ),
    "move": Manual(
        "A node and all below it to another place; nodes get new ids there, tablets keep theirs.",
        "`{node_id=id}`.",
        _COPY_ERRORS,
        ignored=_COPYING,
    ),
    "link": Manual(
        "A symbolic link.",
        "`{node_id=id}` of the link.",
        {1: "the link would lead to itself", 500: "the target or the parent is missing", 501: _EXISTS},
        ignored=("attributes",),
        differs="Attributes are given by `create` with the type `link`.",
    ),
    "lock": Manual(
        "A lock of the transaction on a node.",
        "`{lock_id=id; node_id=id; revision=uint64}`; `node_id` leads to the version that a snapshot lock keeps.",
        {
            1: "no transaction; `child_key` and `attribute_key` together, or with a mode other than `shared`",
            402: f"{_LOCKED}, and the lock is not `waitable`",
            500: _RESOLVE,
        },
        differs="Snapshot locks of dynamic tables keep the node, not its rows.",
    ),
    "unlock": Manual(
        "Gives back the transaction's explicit locks on a node.",
        errors={1: "no transaction; the transaction has changed the node", 500: _RESOLVE},
    ),
}
