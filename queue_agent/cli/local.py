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


def command(
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=HTTP_PORT[:RPC_PORT]",
            help="A cluster; may be repeated. Port 0 chooses a free one, which is where RPC is unless you say so.",
        ),
    ] = None,
    agents: Annotated[int, typer.Option(min=0, max=MAX_LOCAL_AGENTS, help="How many agents share the work.")] = 1,
    data_dir: Annotated[
        Path | None, typer.Option(file_okay=False, help="Keep all data here; without it, it is gone at the end.")
    ] = None,
    rpc_port: Annotated[int, typer.Option(min=1, max=65535, help="RPC port of the first agent; others follow.")] = 9030,
    http_port: Annotated[
        int, typer.Option(min=1, max=65535, help="HTTP port of the first agent; others follow.")
    ] = 10030,
    webhdfs_port: Annotated[
        int,
        typer.Option(min=0, max=65535, help="Port of WebHDFS, by which Spark keeps checkpoints; 0 chooses a free one."),
    ] = 9870,
    test_controls: Annotated[
        bool,
        typer.Option(
            "--test-controls", help="Let anybody set the clock and turn on faults, at /test/ of each cluster."
        ),
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Put a queue with rows at //home/demo/queue of the first cluster.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address the clusters listen at; beyond loopback only with --require-token.")
    ] = LOOPBACK,
    require_token: Annotated[
        bool,
        typer.Option(
            "--require-token", help="Refuse requests without a token; root's is in the file the ready line names."
        ),
    ] = False,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Name by which clients call this machine, besides localhost and addresses; may be repeated.",
        ),
    ] = None,
    allowed_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="Another server whose pages may use the clusters from a browser; may be repeated. Without a token"
            " such a page is root.",
        ),
    ] = None,
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
