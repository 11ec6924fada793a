"""Commands on transactions, subjects and the cluster itself."""

from __future__ import annotations

from typing import Final

from yt_local.commands.manual.entry import Manual

_PASSWORD: Final = "neither a superuser nor the user with the right password"
_GONE: Final = {11000: "no such transaction"}
_TRANSACTION: Final = {**_GONE, 1: "no transaction is named"}

MANUAL: Final[dict[str, Manual]] = {
    "start_transaction": Manual(
        "Starts a master or a tablet transaction; with `transaction_id` inside of another.",
        "`{transaction_id=id}`",
        {
            1: "a tablet transaction with a parent or prerequisites",
            1000: "a prerequisite transaction is not there",
            11000: "no such parent",
            11002: "nested too deeply",
        },
        ignored=(
            "sticky",
            "ping_ancestor_transactions",
            "durability",
            "suppress_start_timestamp_generation",
            "coordinator_master_cell_tag",
            "replicate_to_master_cell_tags",
            "start_cypress_transaction",
        ),
        differs="Tablet transactions are sticky anyway: there is one proxy. `transaction_id_override` and "
        "`start_timestamp_override` are ignored.",
    ),
    "ping_transaction": Manual(
        "Has a transaction live on for its timeout; without an id nothing is done.", errors=_GONE
    ),
    "commit_transaction": Manual(
        "Makes what was done in a transaction visible to its parent, or to all.",
        "`{primary_commit_timestamp=uint64; commit_timestamps={}}`",
        {
            **_TRANSACTION,
            1000: "a prerequisite transaction is not there, or a node has another revision; nothing is written",
            1700: "somebody else has written a row since the start of the tablet transaction; nothing is written",
            1701: "a tablet was resharded meanwhile",
            1702: "a tablet is not mounted any more",
            1704: "a tablet was mounted anew meanwhile",
        },
    ),
    "abort_transaction": Manual(
        "Forgets what was done in a transaction and in those inside of it.", errors=_TRANSACTION, ignored=("force",)
    ),
    "add_member": Manual(
        "A subject into a group.",
        errors={1: "no such member; the group would contain itself", 500: "no such group", 908: "it is there already"},
    ),
    "remove_member": Manual("A subject out of a group.", errors={1: "it is not in the group", 500: "no such group"}),
    "check_permission": Manual(
        "Whether a user may do something with an object.",
        "`{action=allow}` or `{action=deny}`, with `object_id`, `object_name`, `subject_id`, "
        "`subject_name` of the entry that decided; `columns=[...]` if columns were given.",
        {1: "no such permission", 500: "no such node", 900: "no such user"},
        differs="There are no rules for columns: each is as its table.",
    ),
    "check_permission_by_acl": Manual(
        "Whether an access control list would let a user do something.",
        "`{action=allow}` or `{action=deny}`, with `subject_id`, `subject_name`; `missing_subjects` "
        "if they are ignored",
        {1: "no such permission; a list that is none", 900: "no such user", 907: "a subject of the list is not there"},
    ),
    "get_current_user": Manual("Who the caller is.", "`{user=name}`"),
    "issue_token": Manual(
        "A new token for a user.", "`token`; it is told this once", {900: f"{_PASSWORD}; no such user", 901: _PASSWORD}
    ),
    "revoke_token": Manual("Makes a token invalid.", errors={900: _PASSWORD, 901: _PASSWORD, 1: "no such token"}),
    "list_user_tokens": Manual(
        "Hashes of a user's tokens.",
        "`[sha256; ...]`, or with `with_metadata` a map of them to what is known of each",
        {900: f"{_PASSWORD}; no such user", 901: _PASSWORD},
    ),
    "set_user_password": Manual("Gives a user a password.", errors={900: f"{_PASSWORD}; no such user", 901: _PASSWORD}),
    "generate_timestamp": Manual("A timestamp that is greater than all before.", "`{timestamp=uint64}`"),
    "discover_proxies": Manual(
        "Addresses of proxies.",
        "`{proxies=[address; ...]}`; empty for a role or a type that no proxy has",
        ignored=("address_type", "network_name"),
    ),
    "parse_ypath": Manual(
        "A path taken apart.",
        "`{path=<attributes>path}`; columns and ranges behind the path as attributes",
        {1: "columns or ranges that cannot be read"},
        differs="One row or key (`[#5]`) is shown as a range with two limits, not as `exact`.",
    ),
    "get_version": Manual("The version of the cluster.", '`{version="24.1.0-local"}`'),
    "get_supported_features": Manual("What a client may use.", "`{features={}}`"),
    "execute_batch": Manual(
        "Light commands in one request, one after the other.",
        "`{results=[{output=...}; {error=...}; ...]}` in the order of the requests",
        {1: "a command that is unknown, heavy or tabular: then none of them is carried out"},
        ignored=("concurrency",),
    ),
}
