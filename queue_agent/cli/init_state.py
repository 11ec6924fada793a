"""`queue-agent init-state`: makes the state tables or migrates older ones, and makes those of the history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from queue_agent.adapters.history.history_setup import HistorySetup
from queue_agent.adapters.process.logs import configure_logging
from queue_agent.adapters.state.state_lock import StateLock
from queue_agent.adapters.state.state_setup import StateSetup
from queue_agent.cli.errors import CommandError
from queue_agent.cli.options import DryRun, OptionalConfigFile, Proxy, Root, TokenFile, exit_codes
from queue_agent.cli.reach import Reach, as_yt_finds
from queue_agent.config.clusters import HistoryTables, StateConfig
from queue_agent.config.file import load_config
from queue_agent.core.state.migration import CreateDirectory, MigrationError, notes_on, plan_migration
from queue_agent.core.state.schema import LATEST_VERSION


def command(
    proxy: Proxy = None,
    config: OptionalConfigFile = None,
    root: Root = None,
    token_file: TokenFile = None,
    target_version: Annotated[
        int | None, typer.Option(help="Version of the tables; the latest by default.", show_default=False)
    ] = None,
    latest: Annotated[bool, typer.Option("--latest", help="Migrate to the latest version (the default).")] = False,
    history: Annotated[
        bool,
        typer.Option(
            "--history",
            help="Create the queue and the producer of the status history, too, as is done for a configuration with"
            " a section history.",
        ),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Create the state tables, or migrate older ones. Safe to run again."""
    configure_logging("warning", "console")
    with exit_codes():
        if latest and target_version is not None:
            raise CommandError("--latest and --target-version both say which version is wanted")
        location = locate(proxy, config, root, token_file)
        if config is not None:
            history_location = find_history_in(config, history)
        else:
            history_location = history_beside(location) if history else None
        version = LATEST_VERSION if target_version is None else target_version
        try:
            asyncio.run(init_state(location, version, dry_run, typer.echo))
        except MigrationError as error:
            raise CommandError(str(error)) from error
        if history_location is not None:
            asyncio.run(init_history(history_location, dry_run, typer.echo))


@dataclass(frozen=True, slots=True)
class StateLocation:
    """Where the state tables are, or are to be."""

    name: str
    """What messages call the cluster: its name, or the address that was given."""

    reach: Reach
    root: str


def locate(
    proxy: str | None, config: Path | None, root: str | None, token_file: Path | None, default: str | None = None
) -> StateLocation:
    """Where a command line says the state is.

    Args:
        proxy: of `--proxy`.
        config: of `--config`.
        root: of `--root`.
        token_file: of `--token-file`.
        default: proxy where neither of both is given.

    Raises:
        CommandError: it says so twice, or not at all.
    """
    if config is not None and proxy is None and token_file is None:
        return location_in(config, root)
    address = proxy or (default if config is None else None)
    if address is None or config is not None:
        raise CommandError("either --proxy, with or without --token-file, or --config says where the state is")
    return StateLocation(address, as_yt_finds(address, token_file), root or StateConfig.model_fields["root"].default)


def location_in(config_file: Path, root: str | None) -> StateLocation:
    """The one an agent with this configuration uses, but for the root if one is given. See `load_config`."""
    config = load_config(config_file)
    reach = Reach(config.clusters[config.state.cluster])
    return StateLocation(config.state.cluster, reach, root or config.state.root)


async def init_state(location: StateLocation, target: int, dry_run: bool, tell: Callable[[str], None]) -> None:
    """Bring the state tables to a version; there is nothing to do if they are there already.

    Args:
        location: of the tables.
        target: the version.
        dry_run: only tell what would be done.
        tell: is given a line for every step before it is done, and for what people should know.

    Raises:
        MigrationError: the version cannot be reached.
        ClusterError: a step failed, or somebody else is at it; what has been done before stays, and another run goes on
            from there.
    """
    async with location.reach.open(location.name) as cluster:
        setup = StateSetup(cluster, location.root)
        found = await setup.look()
        plan = plan_migration(found, target)
        for note in notes_on(found, target):
            tell(f"note: {note}")
        if not plan:
            tell(f"nothing to do: {location.root} is at version {target}")
        elif dry_run:
            for step in plan:
                tell(str(step))
            tell("nothing of this was done")
        else:
            await _carry_out(setup, target, tell)
            tell(f"{location.root} is at version {target}")


@dataclass(frozen=True, slots=True)
class HistoryLocation:
    """Where the history is, or is to be."""

    reach: Reach
    tables: HistoryTables


def history_beside(state: StateLocation) -> HistoryLocation:
    """The one of an agent whose configuration says nothing else."""
    return HistoryLocation(state.reach, HistoryTables.below(state.name, state.root))


def find_history_in(config_file: Path, wanted: bool) -> HistoryLocation | None:
    """The one an agent with this configuration uses; None if it keeps none, unless it is wanted. See `load_config`."""
    config = load_config(config_file)
    if config.history is None and not wanted:
        return None
    tables = config.history_tables
    return HistoryLocation(Reach(config.clusters[tables.queue.cluster]), tables)


async def init_history(location: HistoryLocation, dry_run: bool, tell: Callable[[str], None]) -> None:
    """Make the queue and the producer of the history, unless they are there already.

    Args:
        location: of both.
        dry_run: only tell what would be done.
        tell: is given a line for every step before it is done.

    Raises:
        ClusterError: a step failed; what has been done before stays, and another run goes on from there.
    """
    async with location.reach.open(location.tables.queue.cluster) as cluster:
        setup = HistorySetup(cluster, location.tables)
        steps = await setup.plan()
        for step in steps:
            tell(str(step))
            if not dry_run:
                await setup.do(step)
        if not steps:
            tell(f"nothing to do: the history can be written to {location.tables.queue.path}")
        elif dry_run:
            tell("nothing of this was done")


async def _carry_out(setup: StateSetup, target: int, tell: Callable[[str], None]) -> None:
    """Do what is to be done when nobody else does it."""
    await setup.do(CreateDirectory())
    async with StateLock(setup.cluster, setup.root) as lock:
        for step in plan_migration(await setup.look(), target):
            await lock.keep()
            tell(str(step))
            await setup.do(step)
