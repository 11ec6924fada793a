"""Which series of very many are shown: the worst, without coming and going, and never more than a limit."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

Key = TypeVar("Key")


def choose_worst(scores: Iterable[tuple[Any, Key]], shown: Collection[Key], limit: int) -> dict[Key, None]:
    """Choose the worst of all.

    The worst half is always chosen. What was shown before stays while it is among the worst of twice the limit, so that
    those about the limit do not come and go.

    Args:
        scores: the greater the worse, each with what it belongs to; of a type that can be ordered.
        shown: what was chosen last time.
        limit: how many at most.

    Returns:
        Those chosen, in no order that means anything.
    """
    ranked = [key for _, key in heapq.nlargest(2 * limit, scores, key=lambda scored: scored[0])]
    certain = dict.fromkeys(ranked[: (limit + 1) // 2])
    for candidates in ([key for key in ranked if key in shown], ranked):
        for key in candidates:
            if len(certain) >= limit:
                return certain
            certain[key] = None
    return certain


def admit(sizes: Mapping[Key, int], shown: Iterable[Key], limit: int) -> dict[Key, None]:
    """Admit objects while there is room for all of their series; who was there first stays.

    Args:
        sizes: how many series each would have.
        shown: what was admitted last time, in the order given then.
        limit: of series.

    Returns:
        Those admitted; what does not fit is left out, and what comes after it may still fit.
    """
    room = limit
    admitted: dict[Key, None] = {}
    for key in (*shown, *sizes):
        size = sizes.get(key)
        if size is not None and size <= room and key not in admitted:
            admitted[key] = None
            room -= size
    return admitted
