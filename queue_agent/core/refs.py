"""References to objects across clusters."""

from __future__ import annotations

from typing import NamedTuple


class CrossClusterRef(NamedTuple):
    """A table on a cluster; ordered by cluster, then path."""

    cluster: str
    path: str

    @classmethod
    def parse(cls, text: str) -> CrossClusterRef:
        """Read `cluster:path`; ValueError if there is no colon or a side is empty."""
        cluster, colon, path = text.partition(":")
        if not (cluster and colon and path):
            raise ValueError(f"not a reference of the form cluster:path: {text!r}")
        return cls(cluster, path)

    def __str__(self) -> str:
        return f"{self.cluster}:{self.path}"
