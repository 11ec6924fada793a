"""References to objects across clusters."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_NAMED: Final = re.compile(r'<"cluster"="([^"]+)";"queue_consumer_name"="((?:[^"\\]|\\.)+)";>(.+)', re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


class CrossClusterRef(NamedTuple):
    """A table on a cluster, or one named consumer in a table that holds several; ordered by cluster, path, name."""

    cluster: str
    path: str
    name: str = ""
    """Of a consumer in a multi-consumer table; empty for tables."""

    @classmethod
    def parse(cls, text: object) -> CrossClusterRef:
        """Read what `str` writes; ValueError if it is not of that form, or no text: keys of attributes can be bytes."""
        if not isinstance(text, str):
            raise ValueError(f"not a reference, which is text: {text!r}")
        if text.startswith("<"):
            match = _NAMED.fullmatch(text)
            if match is None:
                raise ValueError(f"not a reference to a named consumer: {text!r}")
            cluster, name, path = match.groups()
            return cls(cluster, path, _ESCAPED.sub(r"\1", name))
        cluster, colon, path = text.partition(":")
        if not (cluster and colon and path):
            raise ValueError(f"not a reference of the form cluster:path: {text!r}")
        return cls(cluster, path)

    @property
    def table(self) -> CrossClusterRef:
        """The table itself, whichever consumer in it is meant."""
        return CrossClusterRef(self.cluster, self.path)

    def __str__(self) -> str:
        r"""`cluster:path`; a named consumer as the rich path `<"cluster"="...";"queue_consumer_name"="...";>path`."""
        if not self.name:
            return f"{self.cluster}:{self.path}"
        name = re.sub(r'(["\\])', r"\\\1", self.name)
        return f'<"cluster"="{self.cluster}";"queue_consumer_name"="{name}";>{self.path}'
