"""Names of services and pods in place of CoreDNS: what the API server knows, asked for twice a second.

`python -m deploy.kubernetes_tests.names ADDRESS API KEYS` answers on port 53; a name it does not know does not exist.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

_TTL_SECONDS: Final = 2
_ADDRESS: Final = 1
"""Type of a question for an IPv4 address."""

Records = dict[str, list[str]]


def make_records(services: list[dict[str, Any]], slices: list[dict[str, Any]], domain: str) -> Records:
    """IPv4 addresses by full name, as Kubernetes specifies them for services and for pods with a host name."""
    records: Records = {}
    headless: set[str] = set()
    for service in services:
        name = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc.{domain}"
        address = service["spec"].get("clusterIP")
        records[name] = [address] if address and address != "None" else []
        if address == "None":
            headless.add(name)
    for piece in slices:
        labels = piece["metadata"].get("labels", {})
        name = f"{labels.get('kubernetes.io/service-name')}.{piece['metadata']['namespace']}.svc.{domain}"
        for endpoint in piece.get("endpoints") or []:
            if not endpoint.get("conditions", {}).get("ready"):
                continue
            if name in headless:
                records[name] += endpoint["addresses"]
            if endpoint.get("hostname"):
                records[f"{endpoint['hostname']}.{name}"] = endpoint["addresses"]
    return records


def answer(query: bytes, records: Records) -> bytes:
    """The response to one question."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    (kind,) = struct.unpack(">H", query[at + 1 : at + 3])
    found = records.get(".".join(labels).lower())
    addresses = (found or []) if kind == _ADDRESS else []
    body = b"".join(
        b"\xc0\x0c" + struct.pack(">HHIH", _ADDRESS, 1, _TTL_SECONDS, 4) + socket.inet_aton(each) for each in addresses
    )
    unknown = 3 if found is None else 0
    head = query[:2] + struct.pack(">5H", 0x8580 | unknown, 1, len(addresses), 0, 0)
    return head + query[12 : at + 5] + body


class _Names:
    def __init__(self, api: str, keys: Path) -> None:
        self.records: Records = {}
        self._api = api
        self._context = ssl.create_default_context(cafile=str(keys / "ca.crt"))
        self._context.load_cert_chain(keys / "admin.crt", keys / "admin.key")

    def keep(self) -> None:
        """Ask for ever."""
        while True:
            connection = http.client.HTTPSConnection(self._api, context=self._context, timeout=10)
            try:
                while True:
                    services = self._list(connection, "/api/v1/services")
                    slices = self._list(connection, "/apis/discovery.k8s.io/v1/endpointslices")
                    self.records = make_records(services, slices, "cluster.local")
                    time.sleep(0.5)  # between two looks
            except (OSError, http.client.HTTPException, ValueError) as error:
                print(error, flush=True)
                time.sleep(0.5)  # as above
            finally:
                connection.close()

    @staticmethod
    def _list(connection: http.client.HTTPSConnection, path: str) -> list[dict[str, Any]]:
        connection.request("GET", path)
        items: list[dict[str, Any]] = json.loads(connection.getresponse().read())["items"]
        return items


def main() -> None:
    """Serve for ever."""
    address, api, keys = sys.argv[1:]
    names = _Names(api, Path(keys))
    threading.Thread(target=names.keep, daemon=True).start()
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((address, 53))
    while True:
        query, peer = server.recvfrom(4096)
        try:
            server.sendto(answer(query, names.records), peer)
        except (IndexError, UnicodeError, struct.error, OSError) as error:
            print(error, flush=True)


if __name__ == "__main__":
    main()
