"""Fragments of YSON as a cluster sends them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from benchmarks.scale.world import START, World

ANY_BARRIER: Final = b"<barrier>"
OUTPUT: Final = b"{\x01\x0coutput="
END: Final = b";}"
_TABLETS: Final = b"{\x01\x0etablets=[%s;];}"


def tablet_infos(infos: Iterable[bytes]) -> bytes:
    """Output of `get_tablet_infos`, in which the barrier is still to be put in."""
    return OUTPUT + _TABLETS % b";".join(infos) + END


def tablet_info(total: int, trimmed: int, timestamp: int) -> bytes:
    return (
        b"{\x01\x1etotal_row_count=\x02%s;\x01\x22trimmed_row_count=\x02%s;\x01\x34delayed_lockless_row_count=\x02\x00;"
        b"\x01\x22barrier_timestamp=\x06%s;\x01\x28last_write_timestamp=\x06%s;}"
        % (varint(total << 1), varint(trimmed << 1), ANY_BARRIER, varint(timestamp))
    )


def barrier(world: World) -> bytes:
    """No answer equals the one before: this number grows on every cluster all the time."""
    return varint(START + (1 << 20) + world.second << 30)


def varint(value: int) -> bytes:
    """An unsigned number as binary YSON has it; a signed one that is not negative has to be doubled before."""
    result = bytearray()
    while value > 0x7F:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
