"""Builtin attributes with stored values: which nodes have them, and what values they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from yt_local.cypress.balancer_config import DEFAULT_BALANCER_CONFIG, TABLET_BALANCER_CONFIG
from yt_local.schema.retention import RETENTION_ATTRIBUTES
from yt_local.security.subjects import SUBJECT_TYPES
from yt_local.store.charges import DEFAULT_ACCOUNT
from yt_local.store.model import EXPIRATION_TIME, EXPIRATION_TIMEOUT, Node
from yt_local.store.replica_tracking import DEFAULT_OPTIONS
from yt_local.store.replicated_types import REPLICATED_TABLE

DEFAULT_QUEUE_AGENT_STAGE: Final = "production"
DEFAULT_MIN_REPLICATION_LOG_TTL: Final = 5 * 60 * 1000
"""Milliseconds rows stay in the log of a replicated table that all replicas have."""

COMPRESSION_CODECS: Final = frozenset(
    (
        *("none", "snappy", "lz4", "lz4_high_compression", "quick_lz", "zstd", "zstd_legacy"),
        *("gzip_normal", "gzip_best_compression", "zlib6", "zlib9", "brotli3", "brotli5", "brotli8"),
        *(f"zlib_{level}" for level in range(1, 10)),
        *(f"brotli_{level}" for level in range(1, 12)),
        *(f"zstd_{level}" for level in range(1, 22)),
        *(f"lzma_{level}" for level in range(10)),
        *(f"bzip2_{level}" for level in range(1, 10)),
    )
)
ERASURE_CODECS: Final = frozenset(
    (
        *("none", "reed_solomon_6_3", "reed_solomon_3_3", "lrc_12_2_2"),
        *("isa_reed_solomon_6_3", "isa_reed_solomon_3_3", "isa_lrc_12_2_2"),
    )
)

REPLICATED_TABLE_OPTIONS: Final = "replicated_table_options"


def is_queue(node: Node) -> bool:
    """Every dynamic table that is not sorted is a queue."""
    return node.table is not None and node.table.dynamic and not node.table.schema.is_sorted


def is_consumer(node: Node) -> bool:
    """A dynamic sorted table somebody marked as one."""
    return is_sorted_dynamic(node) and node.attributes.get("treat_as_queue_consumer") is True


def is_producer(node: Node) -> bool:
    """A dynamic sorted table somebody marked as one."""
    return is_sorted_dynamic(node) and node.attributes.get("treat_as_queue_producer") is True


def is_sorted_dynamic(node: Node) -> bool:
    return node.table is not None and node.table.dynamic and node.table.schema.is_sorted


def is_dynamic(node: Node) -> bool:
    return node.table is not None and node.table.dynamic


def is_replicated(node: Node) -> bool:
    return node.type == REPLICATED_TABLE


def has_content(node: Node) -> bool:
    return node.table is not None or node.type == "file"


def is_table(node: Node) -> bool:
    return node.table is not None


def is_link(node: Node) -> bool:
    return node.type == "link"


def is_subject(node: Node) -> bool:
    return node.type in SUBJECT_TYPES


def is_user(node: Node) -> bool:
    return node.type == "user"


def anything(_: Any) -> bool:
    return True


def _one_of(*allowed: str) -> Callable[[Any], bool]:
    names = frozenset(allowed)
    return lambda value: isinstance(value, str) and value in names


def is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


@dataclass(frozen=True, slots=True)
class Settable:
    """A builtin attribute with a stored value."""

    present: Callable[[Node], bool]
    valid: Callable[[Any], bool]
    default: Any = None
    """Shown while nobody has set it; None: not shown then."""

    only_unmounted: bool = False
    lock: Literal["key", "whole", "outside"] = "key"
    """What a transaction locks to set it: the attribute alone, or the node; `outside`: no transaction may set it."""


SETTABLE: Final[Mapping[str, Settable]] = {
    "account": Settable(anything, _is_text, DEFAULT_ACCOUNT, lock="outside"),
    "owner": Settable(anything, _is_text, "root", lock="outside"),
    "acl": Settable(anything, _is_list, [], lock="outside"),
    "inherit_acl": Settable(anything, is_boolean, True, lock="outside"),
    "opaque": Settable(anything, is_boolean, False, lock="outside"),
    EXPIRATION_TIME: Settable(anything, anything),
    EXPIRATION_TIMEOUT: Settable(anything, anything),
    "optimize_for": Settable(is_table, _one_of("lookup", "scan"), "scan"),
    "compression_codec": Settable(has_content, _one_of(*COMPRESSION_CODECS), "lz4"),
    "erasure_codec": Settable(has_content, _one_of(*ERASURE_CODECS), "none"),
    "replication_factor": Settable(has_content, lambda value: isinstance(value, int) and value > 0, 1, lock="outside"),
    "primary_medium": Settable(has_content, _is_text, "default", lock="outside"),
    "tablet_cell_bundle": Settable(is_table, _is_text, "default", only_unmounted=True, lock="outside"),
    "atomicity": Settable(is_dynamic, _one_of("full", "none"), "full", only_unmounted=True, lock="outside"),
    "mount_config": Settable(is_table, is_map, {}, lock="outside"),
    TABLET_BALANCER_CONFIG: Settable(is_dynamic, is_map, DEFAULT_BALANCER_CONFIG, lock="outside"),
    "commit_ordering": Settable(is_queue, _one_of("weak", "strong"), "weak", only_unmounted=True, lock="outside"),
    "in_memory_mode": Settable(is_table, _one_of("none", "compressed", "uncompressed"), "none", lock="whole"),
    "enable_shared_write_locks": Settable(is_sorted_dynamic, is_boolean, False, lock="outside"),
    **{name: Settable(is_table, _is_count, lock="outside") for name in RETENTION_ATTRIBUTES},
    REPLICATED_TABLE_OPTIONS: Settable(is_replicated, is_map, DEFAULT_OPTIONS, lock="outside"),
    "min_replication_log_ttl": Settable(is_replicated, _is_count, DEFAULT_MIN_REPLICATION_LOG_TTL, lock="outside"),
    "queue_agent_stage": Settable(is_dynamic, _is_text, DEFAULT_QUEUE_AGENT_STAGE, lock="outside"),
    "treat_as_queue_consumer": Settable(is_sorted_dynamic, is_boolean, False, lock="outside"),
    "treat_as_queue_producer": Settable(is_sorted_dynamic, is_boolean, False, lock="outside"),
    "vital_queue_consumer": Settable(is_consumer, is_boolean, False, lock="outside"),
}


_RESET: Final = frozenset({"opaque", "queue_agent_stage"})
"""Removing one gives it its default back."""

PERMANENT: Final = frozenset(
    name for name, settable in SETTABLE.items() if settable.default is not None and name not in _RESET
)
"""Always there: they can be changed, not removed."""
