"""The command `queue-agent`: arguments in, exit code out."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from queue_agent.cli.agents_cli import add_agent_commands
from queue_agent.cli.operator_cli import DEFAULT_AGENT, add_commands, fail
from queue_agent.cli.plan_cli import add_plan_commands
from queue_agent.errors import ConfigError
from queue_agent.playground.agents import LocalError
from queue_agent.playground.local import LocalOptions, run_local
from yt_local.service import DEFAULT_CLUSTERS, LOOPBACK, ServiceError, ServiceOptions, parse_clusters

MAX_LOCAL_AGENTS: Final = 16

application = typer.Typer(
    name="queue-agent",
    help="Queue Agent for YTsaurus: watches queues and consumers, and trims what has been read.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from queue_agent.adapters.process.build import DISTRIBUTION, VERSION

        typer.echo(f"{DISTRIBUTION} {VERSION}")
        raise typer.Exit


@application.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version, and do no more.")
    ] = False,
) -> None:
    """Queue Agent for YTsaurus: watches queues and consumers, and trims what has been read."""


@application.command()
def run(
    config: Annotated[Path, typer.Option(help="Configuration file: .yaml, .yml or .yson.")],
    host: Annotated[
        str | None,
        typer.Option(
            envvar="QUEUE_AGENT_HOST",
            help="In place of the configuration's host: agents of a stage can have one file.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Run the service against real clusters until SIGTERM or SIGINT."""
    # Importing the agent takes a second, in which `queue-agent local` already starts one as a process of its own.
    import structlog

    from queue_agent.adapters.process.logs import configure_logging
    from queue_agent.app.agent import Addresses
    from queue_agent.app.process import run_until_signalled
    from queue_agent.config.file import load_config

    try:
        agent_config = load_config(config)
        if host is not None:
            agent_config = agent_config.on_host(host)
    except ConfigError as error:
        fail(str(error))
    configure_logging(agent_config.logging.level, agent_config.logging.format)
    log = structlog.get_logger(__name__)

    def log_ready(addresses: Addresses) -> None:
        log.info("ready", rpc=addresses.rpc, http=addresses.http)

    try:
        asyncio.run(run_until_signalled(agent_config, log_ready))
    except* ConfigError as errors:
        fail("; ".join(map(str, errors.exceptions)))
    except* OSError as errors:
        fail(f"can not listen: {'; '.join(map(str, errors.exceptions))}")


@application.command()
def health(
    agent: Annotated[
        str, typer.Option(envvar="QUEUE_AGENT_ADDRESS", help="HTTP address of the agent.")
    ] = DEFAULT_AGENT,
    ready: Annotated[
        bool, typer.Option("--ready", help="Whether it has looked at its objects lately; not only whether it serves.")
    ] = False,
) -> None:
    """Ask an agent whether it serves; the exit code is 0 if so, and 1 if not."""
    from queue_agent.cli.health_command import UnhealthyError, check_health

    try:
        typer.echo(check_health(agent, "ready" if ready else "live"))
    except UnhealthyError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


@application.command()
def local(
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


@application.command()
def webhdfs(
    proxy: Annotated[str, typer.Option(help="HTTP proxy of the cluster.")],
    root: Annotated[str, typer.Option(help="Cypress path of what clients see as their root.")] = "/",
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Address to listen on.")] = "127.0.0.1:9870",
    token_file: Annotated[Path | None, typer.Option(help="File with an OAuth token; all is done in its name.")] = None,
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
            metavar="NAME", help="Name by which clients call this machine, besides localhost and addresses; repeatable."
        ),
    ] = None,
) -> None:
    """Serve files of a cluster's Cypress by the WebHDFS protocol, until SIGTERM or SIGINT."""
    from queue_agent.adapters.process.logs import configure_logging
    from queue_agent.config.clusters import ClusterConfig
    from queue_agent.webhdfs.address import address_of
    from queue_agent.webhdfs.command import WebHdfsOptions, run_webhdfs

    if not root.startswith("/") or (root != "/" and not root.startswith("//")):
        fail(f"--root is a path of Cypress such as //home/spark, or / for all; got {root!r}")
    configure_logging("warning", "console")
    try:
        cluster = ClusterConfig(proxy=proxy, token_file=token_file)
        options = WebHdfsOptions(cluster, root, *address_of(listen), secret_file, allowed_host or [])
        asyncio.run(run_webhdfs(options, typer.echo))
    except ConfigError as error:
        fail(str(error))


@application.command("init-state")
def init_state(
    proxy: Annotated[str | None, typer.Option(help="HTTP proxy of the cluster that holds the state.")] = None,
    config: Annotated[Path | None, typer.Option(help="Take cluster and root from this configuration file.")] = None,
    root: Annotated[str | None, typer.Option(help="Directory of the tables; //sys/queue_agents by default.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with an OAuth token, with --proxy.")] = None,
    target_version: Annotated[
        int | None, typer.Option(help="Version of the tables; the latest by default.", show_default=False)
    ] = None,
    latest: Annotated[bool, typer.Option("--latest", help="The latest version, as by default.")] = False,
    history: Annotated[
        bool,
        typer.Option(
            "--history",
            help="Create the queue and the producer of the status history, too, as is done for a configuration with"
            " a section history.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
) -> None:
    """Create the state tables, or bring older ones to a newer version; may be run again at any time."""
    from queue_agent.adapters.process.logs import configure_logging
    from queue_agent.cli.state_command import (
        CLUSTER_NAME,
        StateLocation,
        find_history_in,
        history_beside,
        init_history,
        location_in,
    )
    from queue_agent.cli.state_command import init_state as do_init_state
    from queue_agent.config.clusters import ClusterConfig, StateConfig
    from queue_agent.core.state.migration import MigrationError
    from queue_agent.core.state.schema import LATEST_VERSION
    from queue_agent.errors import ClusterError

    if latest and target_version is not None:
        fail("--latest and --target-version both say which version is wanted")
    try:
        if proxy is not None and config is None:
            default_root = StateConfig.model_fields["root"].default
            cluster = ClusterConfig(proxy=proxy, token_file=token_file)
            location = StateLocation(CLUSTER_NAME, cluster, root or default_root)
            history_location = history_beside(location) if history else None
        elif config is not None and proxy is None and token_file is None:
            location = location_in(config, root)
            history_location = find_history_in(config, history)
        else:
            fail("either --proxy, with or without --token-file, or --config says where the state is")
        configure_logging("warning", "console")
        version = LATEST_VERSION if target_version is None else target_version
        asyncio.run(do_init_state(location, version, dry_run, typer.echo))
        if history_location is not None:
            asyncio.run(init_history(history_location, dry_run, typer.echo))
    except (ConfigError, MigrationError) as error:
        fail(str(error))
    except ClusterError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


@application.command("register-addresses")
def register_addresses(
    config: Annotated[Path, typer.Option(help="Configuration file of the agents: its stage, its clusters.")],
    address: Annotated[list[str], typer.Option(metavar="HOST:PORT", help="RPC address of an agent; may be repeated.")],
    cluster: Annotated[
        list[str] | None, typer.Option(help="Name of a cluster; may be repeated. All of the configuration by default.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
) -> None:
    """Tell masters and proxies where the agents of a stage are; may be run again at any time."""
    from queue_agent.adapters.process.logs import configure_logging
    from queue_agent.cli.address_command import register_addresses as do_register
    from queue_agent.config.file import load_config
    from queue_agent.errors import ClusterError

    configure_logging("warning", "console")
    try:
        asyncio.run(do_register(load_config(config), address, cluster or (), dry_run, typer.echo))
    except ConfigError as error:
        fail(str(error))
    except ClusterError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


@application.command("operator-config")
def operator_config(
    file: Annotated[Path, typer.Argument(help="ytserver-queue-agent.yson, as the k8s operator writes it.")],
    host: Annotated[
        str | None, typer.Option(help="Full name of the pod; the machine's by default.", show_default=False)
    ] = None,
) -> None:
    """Show this agent's configuration out of what the k8s operator writes for the C++ agent."""
    import json

    from queue_agent.cli.operator_config import full_host_name, read_operator_config, translate

    try:
        config = translate(read_operator_config(file), host or full_host_name())
    except ConfigError as error:
        fail(str(error))
    typer.echo(json.dumps(config, indent=2))  # which is YAML


@application.command("install-dashboards")
def install_dashboards(
    proxy: Annotated[str | None, typer.Option(help="HTTP proxy of the cluster whose UI is to show them.")] = None,
    config: Annotated[Path | None, typer.Option(help="Take all clusters of this configuration file.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with an OAuth token, with --proxy.")] = None,
    directory: Annotated[
        str,
        typer.Option(help="Where the UI looks for them; //sys/interface-monitoring up to version 3.12.2."),
    ] = "//sys/interface_monitoring",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
) -> None:
    """Put dashboards of queues and consumers where the UI of YTsaurus looks for them; may be run again at any time."""
    from queue_agent.adapters.process.logs import configure_logging
    from queue_agent.cli.dashboards_command import clusters_in
    from queue_agent.cli.dashboards_command import install_dashboards as do_install
    from queue_agent.config.clusters import ClusterConfig
    from queue_agent.errors import ClusterError

    configure_logging("warning", "console")
    try:
        if proxy is not None and config is None:
            clusters = {proxy: ClusterConfig(proxy=proxy, token_file=token_file)}
        elif config is not None and proxy is None and token_file is None:
            clusters = clusters_in(config)
        else:
            fail("either --proxy, with or without --token-file, or --config says where they are to be installed")
        for name, cluster in clusters.items():
            asyncio.run(do_install(name, cluster, directory, dry_run, typer.echo))
    except ConfigError as error:
        fail(str(error))
    except ClusterError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


add_commands(application)
add_agent_commands(application)
add_plan_commands(application)


def main() -> None:
    """Entry point of the command."""
    application(prog_name="queue-agent")
