"""What commands have in common: options that mean the same everywhere, and how they end.

Exit codes: 0: done; 1: some of it failed; 2: nothing was done, for arguments, a file or an address cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from queue_agent.adapters.process.presence import find
from queue_agent.cli.addresses import AGENT_VARIABLE, DEFAULT_AGENT
from queue_agent.cli.errors import CommandError
from queue_agent.cli.plain import plain
from queue_agent.errors import ClusterError, ConfigError

SOME_FAILED: Final = 1
NOTHING_DONE: Final = 2

BY_NAME: Final = (
    "; clusters were looked for by their names, as `yt --proxy NAME` does: --proxy NAME=ADDRESS and --config say where"
    " they are"
)
"""What to add to an error about a cluster that nobody has given an address for."""

ConfigFile = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Configuration of the agent: .yaml, .yml or .yson.")
]
AnyConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration of the agent: .yaml, .yml or .yson. In a container that of its agent by default.",
    ),
]
OptionalConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Agent's configuration to take clusters, tokens and paths from."),
]
AgentConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Agent's configuration; asks the agent on this machine."),
]
Host = Annotated[
    str | None,
    typer.Option(
        envvar="QUEUE_AGENT_HOST",
        help="Host name of this agent; overrides the configuration, so that agents can share one file.",
        show_default=False,
    ),
]
Agent = Annotated[
    str | None,
    typer.Option(metavar="URL", envvar=AGENT_VARIABLE, help=f"HTTP address of an agent; {DEFAULT_AGENT} by default."),
]
Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="URL",
        envvar=AGENT_VARIABLE,
        help=f"HTTP address of an agent; {DEFAULT_AGENT} by default. May be repeated, for agents that share"
        " the work of a stage.",
    ),
]
Proxy = Annotated[
    str | None,
    typer.Option(metavar="CLUSTER", help="Cluster, as `yt --proxy` takes it, instead of --config."),
]
Queue = Annotated[
    str,
    typer.Argument(metavar="QUEUE", help="cluster://path or <cluster=...>//path."),
]
Consumer = Annotated[
    str,
    typer.Argument(
        metavar="CONSUMER",
        help="The same; one of several in a table is '<cluster=...;queue_consumer_name=...>//path'.",
    ),
]
Proxies = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=ADDRESS", help="HTTP proxy of a cluster, instead of --config; may be repeated."),
]
TokenFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="File with an OAuth token, with --proxy; yours by default.")
]
Root = Annotated[str | None, typer.Option(help="Directory of the state tables; //sys/queue_agents by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print a JSON document, for programs.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")]


@contextmanager
def exit_codes() -> Iterator[None]:
    """Tell errors that are no bugs in a line, and end with the exit code for their kind."""
    try:
        yield
    except (ConfigError, CommandError) as error:
        fail(str(error))
    except ClusterError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(SOME_FAILED) from error


def fail(message: str) -> NoReturn:
    """End with `NOTHING_DONE`."""
    typer.echo("\n".join(map(plain, message.split("\n"))), err=True)
    raise typer.Exit(NOTHING_DONE)


def default_config(config: Path | None) -> Path:
    """A configuration that was named, or that of the agent of this container; without either, the command ends."""
    if config is not None:
        return config
    found = find()
    if found is None:
        fail("say which configuration: --config FILE")
    return Path(found.config)


def now() -> datetime:
    """The clock of whoever looks."""
    return datetime.now(UTC)  # noqa: TID251 - this is the clock the others are given
