"""Decimals as they are stored: a big-endian number scaled by a power of ten, its sign bit flipped."""

from __future__ import annotations

from yt_wire.error import YtError


def decimal_size(precision: int) -> int:
    """Bytes of a decimal with so many digits."""
    for size, most in ((4, 9), (8, 18), (16, 38)):
        if precision <= most:
            return size
    return 32


def decimal_number(data: bytes) -> int:
    """The scaled number."""
    return int.from_bytes(data, "big") - (1 << 8 * len(data) - 1)


def decimal_bytes(number: int, size: int) -> bytes:
    """A scaled number as it is stored in so many bytes."""
    return (number + (1 << 8 * size - 1)).to_bytes(size, "big")


def decimal_text(data: bytes, precision: int, scale: int) -> str:
    """A decimal as people write it: `3.1415`, `-0.5`, `nan`, `inf`."""
    if len(data) != decimal_size(precision):
        raise YtError(f"Invalid decimal: expected {decimal_size(precision)} bytes, got {len(data)}")
    number = decimal_number(data)
    largest = (1 << 8 * len(data) - 1) - 1
    for special, text in ((largest, "nan"), (largest - 1, "inf"), (1 - largest, "-inf")):
        if number == special:
            return text
    digits = str(abs(number)).rjust(scale + 1, "0")
    text = f"{digits[:-scale]}.{digits[-scale:]}" if scale else digits
    return "-" + text if number < 0 else text
