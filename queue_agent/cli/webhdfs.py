"""`queue-agent webhdfs`: files of a cluster for Hadoop's clients."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from queue_agent.adapters.process.logs import configure_logging
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import exit_codes
from queue_agent.config.clusters import ClusterConfig
from queue_agent.webhdfs.address import address_of
from queue_agent.webhdfs.command import WebHdfsOptions, run_webhdfs


def command(
    proxy: Annotated[str, typer.Option(help="HTTP proxy of the cluster.")],
    root: Annotated[str, typer.Option(help="Cypress path that clients see as their root.")] = "/",
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address to listen on.")] = "127.0.0.1:9870",
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with an OAuth token; the service acts as its owner.")
    ] = None,
    secret_file: Annotated[
        Path | None,
        typer.Option(
            help="File with the secret all paths begin with, made if it is not there; without it, the ready line tells"
            " a secret for this run. Needed beyond loopback."
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Host name that clients may use, besides localhost and IP addresses; may be repeated."
        ),
    ] = None,
) -> None:
    """Serve files in Cypress over WebHDFS until SIGTERM or SIGINT."""
    configure_logging("warning", "console")
    with exit_codes():
        if not root.startswith("/") or (root != "/" and not root.startswith("//")):
            raise CommandError(f"--root is a path of Cypress such as //home/spark, or / for all; got {root!r}")
        cluster = ClusterConfig(proxy=proxy, token_file=token_file)
        options = WebHdfsOptions(cluster, root, *address_of(listen), secret_file, allowed_host or [])
        asyncio.run(run_webhdfs(options, typer.echo))
