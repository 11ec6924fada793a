"""`queue-agent local`: local clusters and agents, to try everything on one machine."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from queue_agent.cli.options import fail
from queue_agent.playground.agents import LocalError
from queue_agent.playground.local import LocalOptions, run_local
from yt_local.service import DEFAULT_CLUSTERS, LOOPBACK, ServiceError, ServiceOptions, parse_clusters

MAX_LOCAL_AGENTS: Final = 16


_Cluster = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=HTTP_PORT[:RPC_PORT]",
        help="Cluster to run; may be repeated. Port 0 picks a free one; so does RPC by default.",
    ),
]
_Agents = Annotated[int, typer.Option(min=0, max=MAX_LOCAL_AGENTS, help="Number of agents that share the work.")]
_DataDir = Annotated[
    Path | None, typer.Option(file_okay=False, help="Directory for all data; by default data is lost at the end.")
]
_RpcPort = Annotated[int, typer.Option(min=1, max=65535, help="RPC port of the first agent; others follow.")]
_HttpPort = Annotated[int, typer.Option(min=1, max=65535, help="HTTP port of the first agent; others follow.")]
_WebhdfsPort = Annotated[
    int,
    typer.Option(min=0, max=65535, help="Port of WebHDFS, where Spark keeps checkpoints; 0 picks a free one."),
]
_TestControls = Annotated[
    bool,
    typer.Option("--test-controls", help="Let anybody set the clock and inject faults, at /test/ of each cluster."),
]
_Demo = Annotated[
    bool,
    typer.Option("--demo", help="Fill //home/demo: a queue with rows, and one that is written and read."),
]
_Host = Annotated[str, typer.Option(help="Address to listen on; beyond loopback it needs --require-token.")]
_RequireToken = Annotated[
    bool,
    typer.Option(
        "--require-token", help="Refuse requests without a token. The ready line names the file with root's token."
    ),
]
_AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Host name that clients may use, besides localhost and IP addresses; may be repeated.",
    ),
]
_AllowedOrigin = Annotated[
    list[str] | None,
    typer.Option(
        metavar="URL",
        help="Another server whose pages may use the clusters from a browser; may be repeated. Without a token"
        " such a page is root.",
    ),
]


def command(
    cluster: _Cluster = None,
    agents: _Agents = 1,
    data_dir: _DataDir = None,
    rpc_port: _RpcPort = 9030,
    http_port: _HttpPort = 10030,
    webhdfs_port: _WebhdfsPort = 9870,
    test_controls: _TestControls = False,
    demo: _Demo = False,
    host: _Host = LOOPBACK,
    require_token: _RequireToken = False,
    allowed_host: _AllowedHost = None,
    allowed_origin: _AllowedOrigin = None,
) -> None:
    """Run local clusters and agents in the foreground, until Ctrl-C."""
    try:
        http_ports, rpc_ports = parse_clusters(cluster or DEFAULT_CLUSTERS)
        clusters = ServiceOptions(
            http_ports,
            rpc_ports,
            data_dir,
            host,
            require_token,
            test_controls,
            allowed_host or [],
            allowed_origin or [],
        )
        options = LocalOptions(clusters, agents, rpc_port, http_port, webhdfs_port, demo)
        asyncio.run(run_local(options, typer.echo, partial(typer.echo, err=True)))
    except (LocalError, ServiceError) as error:
        fail(str(error))
