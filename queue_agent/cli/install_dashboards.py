"""`queue-agent install-dashboards`: puts dashboards where the UI of YTsaurus looks for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from queue_agent.adapters.process.logs import configure_logging
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import DryRun, OptionalConfigFile, Proxy, TokenFile, exit_codes
from queue_agent.cli.reach import Reach, as_yt_finds
from queue_agent.config.file import load_config
from queue_agent.dashboards.ui_documents import ui_documents
from queue_agent.errors import ObjectNotFound


def command(
    proxy: Proxy = None,
    config: OptionalConfigFile = None,
    token_file: TokenFile = None,
    directory: Annotated[
        str,
        typer.Option(help="Directory the UI reads; //sys/interface-monitoring up to version 3.12.2."),
    ] = "//sys/interface_monitoring",
    dry_run: DryRun = False,
) -> None:
    """Install dashboards of queues and consumers for the YTsaurus UI. Safe to run again."""
    configure_logging("warning", "console")
    with exit_codes():
        for name, reach in _clusters(proxy, config, token_file).items():
            asyncio.run(install_dashboards(name, reach, directory, dry_run, typer.echo))


def _clusters(proxy: str | None, config: Path | None, token_file: Path | None) -> Mapping[str, Reach]:
    if proxy is not None and config is None:
        return {proxy: as_yt_finds(proxy, token_file)}
    if config is not None and proxy is None and token_file is None:
        return {name: Reach(cluster) for name, cluster in load_config(config).clusters.items()}
    raise CommandError("either --proxy, with or without --token-file, or --config says where they are to be installed")


async def install_dashboards(
    name: str, reach: Reach, directory: str, dry_run: bool, tell: Callable[[str], None]
) -> None:
    """Create or replace the documents of one cluster; one that is there already as it is to be stays untouched.

    Args:
        name: of the cluster, for messages.
        reach: how to reach it.
        directory: where its UI looks.
        dry_run: only tell what would be done.
        tell: is given a line for every document.

    Raises:
        ClusterError: a step failed; what has been done before stays, and another run goes on from there.
    """
    async with reach.open(name) as cluster:
        for document, content in ui_documents().items():
            path = f"{directory}/{document}"
            try:
                found = await cluster.get(path)
            except ObjectNotFound:
                found = None
            if found == content:
                tell(f"{name}: {path} is as it should be")
                continue
            tell(f"{name}: {'create' if found is None else 'replace'} {path}")
            if dry_run:
                continue
            if found is None:
                await cluster.execute(
                    "create", {"path": path, "type": "document", "recursive": True, "ignore_existing": True}
                )
            await cluster.execute("set", {"path": path}, content)
        if dry_run:
            tell("nothing of this was done")
