"""FarmHash fingerprints: the hash that never changes, of bytes, of numbers, and of several in a row."""

from __future__ import annotations

import struct
from collections.abc import Iterable

_MASK = (1 << 64) - 1

_K0 = 0xC3A5C85C97CB3127
_K1 = 0xB492B66FBE98F273
_K2 = 0x9AE16A3B2F90404F
_NUMBER_MULTIPLIER = 0x9DDFEA08EB382D69

_SEQUENCE_SEED = 0xDEADC0DE

_WORDS_2 = struct.Struct("<2Q")
_WORDS_8 = struct.Struct("<8Q")
_HALF = struct.Struct("<I")
_WORD = struct.Struct("<Q")


def fingerprint(data: bytes) -> int:
    """Fingerprint64 of a string of bytes."""
    length = len(data)
    if length <= 16:
        return _short(data, length)
    if length <= 32:
        return _medium(data, length)
    if length <= 64:
        return _longer(data, length)
    return _long(data, length)


def fingerprint_of_number(number: int) -> int:
    """Fingerprint of 64 bits; a negative number stands for its two's complement."""
    mixed = (number & _MASK) * _NUMBER_MULTIPLIER & _MASK
    mixed = (mixed ^ (mixed >> 44)) * _NUMBER_MULTIPLIER & _MASK
    return (mixed ^ (mixed >> 41)) * _NUMBER_MULTIPLIER & _MASK


def fingerprint_of_pair(low: int, high: int) -> int:
    """Fingerprint of two numbers of 64 bits, unsigned."""
    mixed = (low ^ high) * _NUMBER_MULTIPLIER & _MASK
    mixed ^= mixed >> 47
    mixed = (high ^ mixed) * _NUMBER_MULTIPLIER & _MASK
    mixed = (mixed ^ (mixed >> 44)) * _NUMBER_MULTIPLIER & _MASK
    return (mixed ^ (mixed >> 41)) * _NUMBER_MULTIPLIER & _MASK


def combine(fingerprints: Iterable[int]) -> int:
    """YTsaurus's fingerprint of a sequence, from those of its members; also of a sequence of one or none."""
    result = _SEQUENCE_SEED
    count = 0
    for item in fingerprints:
        result = fingerprint_of_pair(result, item)
        count += 1
    return result ^ count


def _rotate(word: int, shift: int) -> int:
    return (word >> shift | word << (64 - shift)) & _MASK


def _mix(word: int) -> int:
    return word ^ (word >> 47)


def _join(first: int, second: int, multiplier: int) -> int:
    """Two words to one; both are taken modulo 2^64."""
    mixed = _mix(((first ^ second) & _MASK) * multiplier & _MASK)
    return _mix((second & _MASK ^ mixed) * multiplier & _MASK) * multiplier & _MASK


def _short(data: bytes, length: int) -> int:
    multiplier = _K2 + length * 2
    if length >= 8:
        first = _WORD.unpack_from(data)[0] + _K2 & _MASK
        last = _WORD.unpack_from(data, length - 8)[0]
        left = _rotate(last, 37) * multiplier + first
        right = (_rotate(first, 25) + last) * multiplier
        return _join(left, right, multiplier & _MASK)
    if length >= 4:
        first = _HALF.unpack_from(data)[0]
        last = _HALF.unpack_from(data, length - 4)[0]
        return _join(length + (first << 3), last, multiplier & _MASK)
    if length:
        low = data[0] + (data[length >> 1] << 8)
        high = length + (data[-1] << 2)
        return _mix((low * _K2 ^ high * _K0) & _MASK) * _K2 & _MASK
    return _K2


def _ends(data: bytes, length: int, multiplier: int) -> tuple[int, int, int]:
    """What the first and last sixteen bytes give: the first word scaled, and the two sums to be joined."""
    first, second = _WORDS_2.unpack_from(data)
    before_last, last = _WORDS_2.unpack_from(data, length - 16)
    scaled = first * (_K1 if length <= 32 else _K2) & _MASK
    last = last * multiplier & _MASK
    sum_of_rotated = _rotate(scaled + second & _MASK, 43) + _rotate(last, 30) + before_last * _K2
    sum_of_words = scaled + _rotate(second + _K2 & _MASK, 18) + last
    return scaled, sum_of_rotated & _MASK, sum_of_words & _MASK


def _medium(data: bytes, length: int) -> int:
    multiplier = _K2 + length * 2 & _MASK
    _, left, right = _ends(data, length, multiplier)
    return _join(left, right, multiplier)


def _longer(data: bytes, length: int) -> int:
    multiplier = _K2 + length * 2 & _MASK
    scaled, left, right = _ends(data, length, multiplier)
    joined = _join(left, right, multiplier)
    third, fourth = _WORDS_2.unpack_from(data, 16)
    fifth, sixth = _WORDS_2.unpack_from(data, length - 32)
    third = third * multiplier & _MASK
    fifth = (left + fifth) * multiplier & _MASK
    sixth = (joined + sixth) * multiplier & _MASK
    return _join(
        _rotate(third + fourth & _MASK, 43) + _rotate(fifth, 30) + sixth,
        third + _rotate(fourth + scaled & _MASK, 18) + fifth,
        multiplier,
    )


def _weak(words: tuple[int, ...], first: int, second: int) -> tuple[int, int]:
    one, two, three, four = words
    first = first + one & _MASK
    second = _rotate(second + first + four & _MASK, 21)
    last = first + two + three & _MASK
    second += _rotate(last, 44)
    return last + four & _MASK, second + first & _MASK


def _long(data: bytes, length: int) -> int:
    seed = 81
    x = seed * _K2 + _WORD.unpack_from(data)[0] & _MASK
    y = seed * _K1 + 113 & _MASK
    z = _mix(y * _K2 + 113 & _MASK) * _K2 & _MASK
    v = w = (0, 0)
    rest = (length - 1) & 63
    for position in range(0, length - 1 - rest, 64):
        x, y, z, v, w = _step(data, position, (x, y, z, v, w), _K1, 1)
    multiplier = _K1 + ((z & 0xFF) << 1) & _MASK
    w = (w[0] + rest & _MASK, w[1])
    v = (v[0] + w[0] & _MASK, v[1])
    w = (w[0] + v[0] & _MASK, w[1])
    x, y, z, v, w = _step(data, length - 64, (x, y, z, v, w), multiplier, 9)
    return _join(
        _join(v[0], w[0], multiplier) + _mix(y) * _K0 + z,
        _join(v[1], w[1], multiplier) + x,
        multiplier,
    )


def _step(
    data: bytes,
    position: int,
    state: tuple[int, int, int, tuple[int, int], tuple[int, int]],
    multiplier: int,
    weight: int,
) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
    x, y, z, v, w = state
    words = _WORDS_8.unpack_from(data, position)
    x = _rotate(x + y + v[0] + words[1] & _MASK, 37) * multiplier & _MASK
    y = _rotate(y + v[1] + words[6] & _MASK, 42) * multiplier & _MASK
    x ^= w[1] * weight & _MASK
    y = y + v[0] * weight + words[5] & _MASK
    z = _rotate(z + w[0] & _MASK, 33) * multiplier & _MASK
    v = _weak(words[:4], v[1] * multiplier, x + w[0])
    w = _weak(words[4:], z + w[1], y + words[2])
    return z, y, x, v, w
