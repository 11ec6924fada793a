"""`queue-agent operator-config`: this agent's configuration out of what the k8s operator writes for the C++ agent."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from queue_agent.adapters.process.json_values import to_json
from queue_agent.cli.options import exit_codes
from queue_agent.errors import ConfigError
from yt_wire import yson
from yt_wire.error import YtError

OVERRIDES: Final = "yt_queue_agent"
"""Section of the operator's file that is in this agent's form, and wins."""

TOKEN_FILE: Final = "/etc/queue-agent/token/YT_TOKEN"

_POD: Final = re.compile(r"[^.]+\.queue-agents(?P<suffix>[^.]*)\.(?P<domain>.+)")


def command(
    file: Annotated[Path, typer.Argument(help="File ytserver-queue-agent.yson of the k8s operator.")],
    host: Annotated[
        str | None, typer.Option(help="Full name of the pod; the machine's by default.", show_default=False)
    ] = None,
) -> None:
    """Translate the configuration that the k8s operator writes for the C++ agent."""
    with exit_codes():
        config = translate(read_operator_config(file), host or full_host_name())
        typer.echo(json.dumps(config, indent=2))  # which is YAML


def translate(document: Mapping[str, Any], host: str) -> dict[str, Any]:
    """The configuration as a map for a file.

    Args:
        document: `ytserver-queue-agent.yson`.
        host: full name of the pod, by which masters and other agents reach it.

    Raises:
        ConfigError: something that is needed is missing.
    """
    cluster = document.get("cluster_connection", {}).get("cluster_name")
    if not cluster:
        raise ConfigError("cluster_connection/cluster_name is missing")
    overrides = document.get(OVERRIDES, {})
    connection = {"token_file": TOKEN_FILE}
    if pod := _POD.fullmatch(host):
        connection["proxy"] = f"http://http-proxies{pod['suffix']}.{pod['domain']}"
    elif not overrides.get("clusters", {}).get(cluster, {}).get("proxy"):
        raise ConfigError(
            f"{host} is no pod queue-agents of the operator, so the HTTP proxies are not known:"
            f" set {OVERRIDES}/clusters/{cluster}/proxy"
        )
    config = {
        "stage": document.get("queue_agent", {}).get("stage", "production"),
        "clusters": {cluster: connection},
        "state": {"cluster": cluster, **_given(document.get("dynamic_state", {}), root="root")},
        "host": host,
        "rpc": _given(document, port="rpc_port"),
        "http": _given(document, port="monitoring_port"),
    }
    return _merge(config, overrides)


def full_host_name() -> str:
    """The machine's, which the operator sets to the pod's full name; only elsewhere others are asked."""
    name = socket.gethostname()
    return name if "." in name else socket.getfqdn()


def read_operator_config(path: Path) -> Mapping[str, Any]:
    """The operator's file.

    Raises:
        ConfigError: it cannot be read, or is no YSON map.
    """
    try:
        document: Any = to_json(yson.loads(path.read_bytes()))
    except (OSError, YtError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: not a map")
    return document


def _given(document: Mapping[str, Any], **names: str) -> dict[str, Any]:
    return {ours: document[theirs] for ours, theirs in names.items() if theirs in document}


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
