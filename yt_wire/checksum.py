"""Checksums of bus packets: CRC-64, the most significant bit first, nothing inverted.

Bytes are polynomials over GF(2), and Python's integers shift and add them (`^`) by the megabyte: a long one is halved
until it is short, at some 50 megabytes a second, where a table of bytes makes ten.
"""

from __future__ import annotations

from typing import Final

_POLYNOMIAL: Final = 0xE543279765927881
_DEGREE: Final = 64
_MASK: Final = (1 << _DEGREE) - 1
_BLOCK: Final = 1 << 15
"""Bytes that are reduced together: they stay in the processor's cache."""

_SHORT: Final = 6
"""Of two to this power bytes and less, the table takes care."""


def _shifted(remainder: int) -> int:
    """A remainder times x."""
    shifted = remainder << 1
    return (shifted ^ _POLYNOMIAL) & _MASK if shifted >> _DEGREE else shifted


def _table() -> list[int]:
    entries = []
    for byte in range(256):
        remainder = byte << _DEGREE - 8
        for _ in range(8):
            remainder = _shifted(remainder)
        entries.append(remainder)
    return entries


_TABLE: Final = _table()


def _product(first: int, second: int) -> int:
    """Two remainders multiplied."""
    product = 0
    for bit in reversed(range(_DEGREE)):
        product = _shifted(product)
        if second >> bit & 1:
            product ^= first
    return product


def _powers() -> list[tuple[int, ...]]:
    """Where the ones are in the remainders of x to the powers 1, 2, 4, 8, ..., as far as blocks need them."""
    powers = []
    remainder = 2
    for _ in range((_BLOCK * 8).bit_length() + 1):
        powers.append(tuple(bit for bit in range(_DEGREE) if remainder >> bit & 1))
        remainder = _product(remainder, remainder)
    return powers


_POWERS: Final = _powers()


def checksum(data: bytes) -> int:
    """The checksum of some bytes; 0 of none."""
    remainder = 0
    for start in range(0, len(data), _BLOCK):
        remainder = _continued(remainder, data[start : start + _BLOCK])
    return remainder


def _continued(remainder: int, block: bytes) -> int:
    """The checksum of what had this one and goes on with a block."""
    if len(block) > 1 << _SHORT:
        value = int.from_bytes(block) ^ remainder << 8 * (len(block) - 8)
        for power in range((8 * len(block) - 1).bit_length() - 1, _SHORT + 2, -1):
            high = value >> (1 << power)
            value &= (1 << (1 << power)) - 1
            for bit in _POWERS[power]:
                value ^= high << bit
        block = value.to_bytes((value.bit_length() + 7) // 8)
        remainder = 0
    for byte in block:
        remainder = (remainder << 8 & _MASK) ^ _TABLE[remainder >> _DEGREE - 8 ^ byte]
    return remainder
