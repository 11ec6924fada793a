"""Who asks, and as part of what: a value that goes along with a request to whatever it is carried out by."""

from __future__ import annotations

from dataclasses import dataclass

from yt_local.security.permissions import Access


@dataclass(frozen=True, slots=True)
class Session:
    """One request, as far as it concerns who sees and may do what."""

    access: Access
    """What the user who asks may do, by the access control that the transaction sees."""

    transaction_id: str | None = None
    """Master transaction that the request is part of; None: of none."""
