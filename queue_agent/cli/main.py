"""The command `queue-agent`: which commands there are.

The module of a command is imported when it is run: most take a second to import, and `health` must not.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandInfo

_WIDTH: Final = 100
"""Columns of `--help`, in terminals that have as many."""

ABOUT: Final = "Queue Agent for YTsaurus: watches queues and consumers, and trims what has been read."


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command is, and what is said of it in a list."""

    module: str
    help: str
    function: str = "command"


COMMANDS: Final[Mapping[str, Entry | tuple[str, Mapping[str, Entry]]]] = {
    "run": Entry("run", "Run the service against real clusters until SIGTERM or SIGINT."),
    "health": Entry("health", "Ask an agent whether it serves. Exit code 0: it does; 1: it does not."),
    "local": Entry("local", "Run local clusters and agents in the foreground, until Ctrl-C."),
    "webhdfs": Entry("webhdfs", "Serve files in Cypress over WebHDFS until SIGTERM or SIGINT."),
    "scaler": Entry("scaler", "Tell KEDA over gRPC how many readers a consumer needs, until SIGTERM or SIGINT."),
    "init-state": Entry("init_state", "Create the state tables, or migrate older ones. Safe to run again."),
    "register-addresses": Entry(
        "register_addresses", "Tell masters and proxies where the agents of a stage are. Safe to run again."
    ),
    "operator-config": Entry(
        "operator_config", "Translate the configuration that the k8s operator writes for the C++ agent."
    ),
    "install-dashboards": Entry(
        "install_dashboards",
        "Install dashboards of queues and consumers for the YTsaurus UI. Safe to run again.",
    ),
    "status": Entry(
        "status",
        "Show agents, queues and consumers as they are now, or one queue or consumer with its partitions.",
    ),
    "watch": Entry("watch", "Show the status full screen and refresh it, worst first."),
    "doctor": Entry("doctor", "Check everything an agent needs, and print how to fix each problem. Changes nothing."),
    "agents": Entry("agents", "List agents: what each leads, its last pass, whether it is banned, who coordinates."),
    "ban": Entry("agents", "Stop an agent from leading objects; it still forwards requests to other leaders.", "ban"),
    "unban": Entry("agents", "Let an agent lead again.", "unban"),
    "consumer": (
        "Work on consumers.",
        {
            "reset": Entry(
                "reset",
                "Move a consumer to another position in a queue, after showing what that means and asking.",
            ),
            "acknowledge": Entry(
                "acknowledge",
                "Acknowledge lost rows, a reshard or a re-creation: the verdict no longer shows it.",
            ),
            "protect": Entry(
                "protect",
                "Keep a vital consumer out of quarantine, or end it: the queue keeps what it has not read.",
            ),
            "events": Entry("events", "Show what happened to queues and consumers, newest last."),
        },
    ),
    "trim": (
        "Inspect trimming.",
        {"plan": Entry("trim_plan", "Show what trimming by a policy would do to a queue, without doing it.")},
    ),
    "export": (
        "Inspect static exports.",
        {
            "plan": Entry(
                "export_plan",
                "Show the tables that static exports of a queue would create now. Creates nothing.",
            )
        },
    ),
    "completion": Entry("completion", "Print a script that lets a shell complete commands and names."),
    "spark": (
        "Jobs of PySpark on queues and their history.",
        {
            "export": Entry(
                "spark", "Keep the rows of queues in Parquet files or static tables: each row once.", "export"
            ),
            "downsample": Entry(
                "spark",
                "Update the histories of 5 minutes and 1 hour. Days already done are replaced; safe to run again.",
                "downsample",
            ),
            "report": Entry(
                "spark",
                "Write a report on lag, freshness, busy and idle queues, retention, errors and alerts of one period.",
                "report",
            ),
        },
    ),
}


class LaterCommand(TyperCommand):
    """A command whose module is imported when somebody wants to know more of it than its name.

    Args:
        name: of the command.
        entry: where it is.
    """

    def __init__(self, name: str, entry: Entry) -> None:
        super().__init__(name, help=entry.help, short_help=entry.help, rich_markup_mode=None)
        self._entry = entry

    @cached_property
    def real(self) -> Any:
        """The command itself: one of click's."""
        module = importlib.import_module(f"queue_agent.cli.{self._entry.module}")
        found = getattr(module, self._entry.function)
        if isinstance(found, typer.Typer):
            return typer.main.get_command(found)
        info = CommandInfo(
            name=self.name,
            callback=found,
            cls=TyperCommand,
            help=_flowing(found.__doc__ or ""),
            epilog=_flowing(getattr(module, "EXAMPLES", "")) or None,
        )
        return typer.main.get_command_from_info(
            info, pretty_exceptions_short=True, rich_markup_mode=application.rich_markup_mode
        )

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself, so that it is what is run."""
        return self.real.make_context(info_name, args, parent=parent, **extra)


class Commands(TyperGroup):
    """All commands."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for name, entry in COMMANDS.items():
            if isinstance(entry, Entry):
                self.add_command(LaterCommand(name, entry))
                continue
            about, members = entry
            group = TyperGroup(name=name, help=about, no_args_is_help=True, rich_markup_mode=None)
            for member, one in members.items():
                group.add_command(LaterCommand(member, one))
            self.add_command(group)


application = typer.Typer(
    name="queue-agent",
    help=ABOUT,
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,  # boxes and colours take half a second to import
    context_settings={"max_content_width": _WIDTH},
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


def _flowing(text: str) -> str:
    """Paragraphs without their line breaks: terminals are as wide as they are."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the command."""
    application(args=arguments, prog_name="queue-agent")
