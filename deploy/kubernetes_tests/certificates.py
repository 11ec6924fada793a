"""Keys and certificates of a Kubernetes that lives for hours, made by openssl."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Final

_DAYS: Final = "30"
_SERVERS: Final = "DNS:kubernetes.default.svc,DNS:metrics-server.kube-system.svc"


def make_certificates(state: Path, address: str, node: str, api: str) -> None:
    """Make `keys/` in a folder, and `admin.conf` and `kubelet.conf` beside it.

    Args:
        state: the folder.
        address: of the API server and the node, which are one machine.
        node: the node's name.
        api: address of the API server as a URL.
    """
    keys = state / "keys"
    keys.mkdir()
    authority = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", _DAYS, "-subj", "/CN=ca"]
    _openssl("req", *authority, "-keyout", f"{keys}/ca.key", "-out", f"{keys}/ca.crt")
    _openssl("genrsa", "-out", f"{keys}/accounts.key", "2048")
    _sign(keys, "server", "/CN=kube-apiserver", _SERVERS + f",IP:10.96.0.1,IP:127.0.0.1,IP:{address}")
    _sign(keys, "admin", "/O=system:masters/CN=admin", "DNS:admin")
    _sign(keys, "kubelet", f"/O=system:nodes/CN=system:node:{node}", f"DNS:{node},IP:{address}")
    _sign(keys, "front", "/CN=front-proxy", "DNS:front-proxy")
    for user in ("admin", "kubelet"):
        (state / f"{user}.conf").write_text(json.dumps(_kubeconfig(keys, user, api)))


def _sign(keys: Path, name: str, subject: str, names: str) -> None:
    request, extensions = keys / f"{name}.csr", keys / f"{name}.ext"
    extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n")
    asked = ["-newkey", "rsa:2048", "-nodes", "-subj", subject]
    _openssl("req", *asked, "-keyout", f"{keys}/{name}.key", "-out", str(request))
    signed = ["-CA", f"{keys}/ca.crt", "-CAkey", f"{keys}/ca.key", "-CAcreateserial", "-extfile", str(extensions)]
    _openssl("x509", "-req", "-days", _DAYS, "-in", str(request), *signed, "-out", f"{keys}/{name}.crt")


def _openssl(*command: str) -> None:
    subprocess.run(["openssl", *command], check=True, capture_output=True)


def _kubeconfig(keys: Path, user: str, api: str) -> dict[str, object]:
    def data(name: str) -> str:
        return b64encode((keys / name).read_bytes()).decode()

    cluster = {"server": api, "certificate-authority-data": data("ca.crt")}
    credentials = {"client-certificate-data": data(f"{user}.crt"), "client-key-data": data(f"{user}.key")}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kubernetes", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "kubernetes", "context": {"cluster": "kubernetes", "user": user}}],
        "current-context": "kubernetes",
    }
