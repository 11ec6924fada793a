"""Numbers that stand for types of values, columns and objects in messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from yt_local.base.ids import OBJECT_TYPES
from yt_local.schema.column_types import SIMPLE_TYPES
from yt_wire.proto import api_pb2 as api

NULL: Final = 0x02
INT64: Final = 0x03
UINT64: Final = 0x04
DOUBLE: Final = 0x05
BOOLEAN: Final = 0x06
STRING: Final = 0x10
ANY: Final = 0x11
COMPOSITE: Final = 0x12

PHYSICAL: Final[Mapping[str, int]] = {
    "null": NULL,
    "int64": INT64,
    "uint64": UINT64,
    "double": DOUBLE,
    "boolean": BOOLEAN,
    "string": STRING,
    "any": ANY,
}
"""Types of values, by the names of physical types."""

LOGICAL: Final[Mapping[str, int]] = {
    **PHYSICAL,
    "int8": 0x1000,
    "uint8": 0x1001,
    "int16": 0x1003,
    "uint16": 0x1004,
    "int32": 0x1005,
    "uint32": 0x1006,
    "utf8": 0x1007,
    "date": 0x1008,
    "datetime": 0x1009,
    "timestamp": 0x100A,
    "interval": 0x100B,
    "void": 0x100C,
    "float": 0x100D,
    "json": 0x100E,
    "uuid": 0x100F,
    "date32": 0x1010,
    "datetime64": 0x1011,
    "timestamp64": 0x1012,
    "interval64": 0x1013,
}
"""Types of columns, by their names in schemas."""

assert set(LOGICAL) == set(SIMPLE_TYPES), "every column has a logical type"

CREATABLE: Final[Mapping[int, str]] = {
    **{number: name for name, number in OBJECT_TYPES.items()},
    307: "hunk_storage",
    423: "journal",
    432: "access_control_object_namespace",
    800: "rack",
    805: "data_center",
    1001: "scheduler_pool",
    1700: "queue_consumer",
    1701: "queue_producer",
    11000: "portal_entrance",
    12000: "rootstock",
}
"""Names of what can be asked to be created, whether there is such a thing here or not."""

PERMISSIONS: Final[Mapping[int, str]] = {
    0x0001: "read",
    0x0002: "write",
    0x0004: "use",
    0x0008: "administer",
    0x0010: "register_queue_consumer",
    0x0100: "create",
    0x0200: "remove",
    0x0400: "mount",
    0x0800: "manage",
    0x1000: "modify_children",
    0x2000: "full_read",
}

LOCK_MODES: Final[Mapping[int, str]] = {1: "snapshot", 2: "shared", 3: "exclusive"}

TABLET_STATES: Final[Mapping[str, int]] = {"mounted": 1, "unmounted": 3, "frozen": 5}

REPLICA_MODES: Final = {"sync": api.TRM_SYNC, "async": api.TRM_ASYNC}
