"""What the stand-in knows of agents: who is a member, who keeps the tables, and which of them leads what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from yt_wire import yson

ROOT: Final = "//sys/queue_agents"
MAPPING: Final = f"{ROOT}/queue_agent_object_mapping"

_SCHEMA: Final = [
    {"name": "object", "type": "string", "sort_order": "ascending"},
    {"name": "host", "type": "string"},
]


class Group:
    """Agents that never die."""

    def __init__(self) -> None:
        self._instances: list[str] = []
        self._members: dict[str, str] = {}
        """Addresses by transaction."""

        self._keeper: str | None = None
        self._lease = 0
        self._hosts: dict[str, tuple[str, int]] = {}
        self._writes = 1
        self._rows: bytes | None = None

    @property
    def writes(self) -> int:
        """Grows with every write to the mapping."""
        return self._writes

    def find(self, command: str, parameters: Mapping[str, Any]) -> Any:
        """Output of a light command; None if it has nothing to do with agents."""
        match command:
            case "start_transaction":
                transaction = f"{len(self._members) + 1:x}-1-1-1"
                self._members[transaction] = parameters["attributes"]["host"]
                return {"transaction_id": transaction}
            case "ping_transaction" | "abort_transaction":
                return {}
            case "lock":
                if parameters["path"].endswith("leader_lock"):
                    self._keeper = parameters["transaction_id"]
                return {"lock_id": "1-1-1-1"}
            case "create":
                return self._create(parameters)
            case _:
                return self._read(str(parameters["path"]))

    def insert(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Map objects to agents."""
        self._writes += 1
        self._rows = None
        self._hosts |= {row["object"]: (row["host"], self._writes) for row in rows}

    def select(self) -> bytes:
        """All of the mapping."""
        if self._rows is None:
            rows = [{"object": name, "host": host} for name, (host, _) in sorted(self._hosts.items())]
            self._rows = yson.dumps_rows(rows)
        return self._rows

    def look_up(self, keys: Sequence[Mapping[str, Any]]) -> bytes:
        """Versioned rows."""
        found = ((key["object"], self._hosts[key["object"]]) for key in keys if key["object"] in self._hosts)
        return yson.dumps_rows(
            [
                yson.with_attributes(
                    {"object": name, "host": [yson.with_attributes(host, {"timestamp": yson.Uint64(written)})]},
                    {"write_timestamps": [yson.Uint64(written)], "delete_timestamps": []},
                )
                for name, (host, written) in found
            ]
        )

    def _create(self, parameters: Mapping[str, Any]) -> Any:
        path, attributes = parameters["path"], parameters["attributes"]
        if path.startswith(f"{ROOT}/instances/") and parameters["type"] == "map_node":
            self._instances.append(path.rpartition("/")[2])
        self._lease = attributes.get("lease", self._lease)
        return {"node_id": "1-1-1-1"}

    def _read(self, path: str) -> Any:
        match path:
            case "//sys/queue_agents/instances":
                return {"value": self._instances}
            case "//sys/queue_agents/leader_lock/@locks":
                if self._keeper is None:
                    return {"value": []}
                return {"value": [{"mode": "exclusive", "state": "acquired", "transaction_id": self._keeper}]}
            case str() if path == f"{MAPPING}/@tablet_count":
                return {"value": 1}
            case str() if path == f"{MAPPING}/@schema":
                return {"value": _SCHEMA}
            case str() if path.startswith(f"{ROOT}/members/") and path.endswith("/@lease"):
                return {"value": self._lease}
            case str() if path.startswith(f"{ROOT}/members/") and path.endswith("/@locks"):
                return {
                    "value": [
                        {"mode": "shared", "state": "acquired", "child_key": address}
                        for address in self._members.values()
                    ]
                }
        return None
