"""Guids and object ids: four 32-bit parts, `a-b-c-d` in text."""

from __future__ import annotations

import struct
from typing import NamedTuple


class Guid(NamedTuple):
    """A guid as the two 64-bit numbers it is sent as; text `a-b-c-d` has `d` as the low half of `first`."""

    first: int
    second: int

    @classmethod
    def from_parts(cls, a: int, b: int, c: int, d: int) -> Guid:
        return cls(first=c << 32 | d, second=a << 32 | b)

    @classmethod
    def parse(cls, text: str) -> Guid:
        """Read `a-b-c-d`; ValueError if it is not four hexadecimal 32-bit numbers."""
        parts = [int(part, 16) for part in text.split("-")]
        if len(parts) != 4 or any(not 0 <= part <= 0xFFFFFFFF for part in parts):
            raise ValueError(f"not a guid: {text!r}")
        return cls.from_parts(*parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Guid:
        return cls(*struct.unpack("<QQ", data))

    def to_bytes(self) -> bytes:
        return struct.pack("<QQ", self.first, self.second)

    @property
    def object_type(self) -> int:
        """Type of the object an id belongs to: low half of part `c`."""
        return self.first >> 32 & 0xFFFF

    @property
    def counter(self) -> int:
        """The 64-bit number of parts `a` and `b`; for tablet transactions their start timestamp."""
        return self.second

    def __str__(self) -> str:
        low = 0xFFFFFFFF
        return f"{self.second >> 32:x}-{self.second & low:x}-{self.first >> 32:x}-{self.first & low:x}"


NULL_GUID = Guid(0, 0)
