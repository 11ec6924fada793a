"""Whether clusters can be reached, know the agent's user, and agree with the configuration."""

from __future__ import annotations

import random
import stat
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from shlex import quote
from typing import Final

from queue_agent.adapters.cluster.yt_errors import has_code
from queue_agent.cli.findings import Finding, Grade
from queue_agent.cli.patient import Patient, refusal
from queue_agent.controllers.passes.origins import Origins, Process
from queue_agent.controllers.state.connections import MISMATCH, Connections
from queue_agent.controllers.status.board import Board
from queue_agent.core.values.timestamps import COUNTER_BITS
from queue_agent.errors import AccessDenied, ClusterError, ClusterUnavailable
from queue_agent.ports.passes import PassScope
from yt_wire.error import ErrorCode

_SKEW_NOTICED: Final = timedelta(seconds=2)
_SKEW_HARMFUL: Final = timedelta(seconds=30)
_OTHERS_MAY_READ: Final = stat.S_IROTH | stat.S_IWOTH


async def check_cluster(patient: Patient, name: str) -> tuple[Sequence[Finding], str | None]:
    """One cluster.

    Returns:
        What was found, and the name of the agent's user there, if the cluster tells it.
    """
    subject = f"cluster {name}"
    config, cluster = patient.config.clusters[name], patient.clusters[name]
    token = _check_token_file(subject, config.token_file, patient.yt(name))
    if token.grade is Grade.FAILURE:
        return [token], None
    before = patient.now()
    try:
        timestamp = await cluster.generate_timestamp()
    except ClusterError as error:
        return [token, _unreachable(subject, config.proxy, error)], None
    now = patient.now()
    seconds = (now - before).total_seconds()
    connection = Finding(
        subject, "connection", Grade.OK, f"{config.proxy} answers within {max(seconds, 0) * 1000:.0f} ms"
    )
    user, who = await _check_user(patient, name)
    middle = before + (now - before) / 2
    return [token, connection, who, _check_clock(subject, timestamp, middle.timestamp(), seconds)], user


async def check_registrations(patient: Patient) -> Sequence[Finding]:
    """Names of the clusters, and where their proxies keep registrations: what the agent itself looks at."""
    board = Board(patient.config.host, patient)
    origins = Origins(Process(patient.config.host, 0, 0), "Doctor:0", random.Random())
    table = patient.config.state.registrations
    connections = Connections(patient.clusters, table, board, patient, origins, _Nobody())
    await connections.do_pass(0)
    alert = board.alerts().get(MISMATCH)
    if alert is None:
        detail = f"all clusters that answer have the names they have in the configuration; registrations are in {table}"
        return [Finding("clusters", "names and registrations", Grade.OK, detail)]
    advice = (
        "name clusters in the configuration as //sys/@cluster_connection/cluster_name does, and set"
        " state.consumer_registration_table_path to the table in"
        " //sys/@cluster_connection/queue_agent/queue_consumer_registration_manager; nothing is trimmed until then"
    )
    return [
        Finding("clusters", "names and registrations", Grade.FAILURE, str(inner["message"]), advice)
        for inner in alert["inner_errors"]
    ]


class _Nobody:
    """Hears of passes, and does nothing about it."""

    def pass_finished(
        self, kind: str, pass_index: int, seconds: float, error: Exception | None, scope: PassScope | None = None
    ) -> None: ...


def _check_token_file(subject: str, file: Path | None, yt: str) -> Finding:
    if file is None:
        return Finding(subject, "token", Grade.OK, "requests are sent without one")
    place = quote(str(file))
    issue = f"{yt} execute issue_token '{{user=queue_agent; output_format=json}}' | tr -d '\"' > {place}"
    try:
        token, mode = file.read_text(encoding="utf-8").strip(), file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        return Finding(subject, "token", Grade.FAILURE, f"{file} cannot be read: {error}", commands=[issue])
    if not token:
        return Finding(subject, "token", Grade.FAILURE, f"{file} is empty", commands=[issue])
    if mode & _OTHERS_MAY_READ:
        detail = f"everybody on this machine can read {file}"
        return Finding(subject, "token", Grade.WARNING, detail, commands=[f"chmod o= {place}"])
    return Finding(subject, "token", Grade.OK, f"{file} has one")


def _unreachable(subject: str, proxy: str, error: ClusterError) -> Finding:
    if isinstance(error, AccessDenied) or has_code(error, ErrorCode.AUTHENTICATION):
        return Finding(
            subject,
            "connection",
            Grade.FAILURE,
            f"{proxy} does not let the agent in: {error}",
            "give clusters.NAME.token_file a token that is valid on this cluster; the agent reads it again by itself",
        )
    advice = f"can this machine open {proxy}? Its name, its port, firewalls, and for https:// clusters.NAME.ca_file"
    if not isinstance(error, ClusterUnavailable):
        advice = f"is {proxy} the HTTP proxy of a YTsaurus cluster?"
    return Finding(subject, "connection", Grade.FAILURE, str(error), advice)


async def _check_user(patient: Patient, name: str) -> tuple[str | None, Finding]:
    subject = f"cluster {name}"
    try:
        user = await patient.clusters[name].find_user()
    except ClusterError as error:
        return None, refusal(subject, "user", error)
    if user is None:
        return None, Finding(subject, "user", Grade.SKIPPED, "the proxy does not tell who one is")
    return user, Finding(subject, "user", Grade.OK, f"the agent is known as {user}")


def _check_clock(subject: str, timestamp: int, local_seconds: float, request_seconds: float) -> Finding:
    """Timestamps count seconds: up to one of the difference is theirs, and the request took its time."""
    difference = (timestamp >> COUNTER_BITS) - local_seconds
    skew = timedelta(seconds=max(0.0, abs(difference + 0.5) - 0.5 - request_seconds / 2))
    ahead = "ahead of" if difference > 0 else "behind"
    if skew < _SKEW_NOTICED:
        return Finding(subject, "clock", Grade.OK, "agrees with that of this machine")
    return Finding(
        subject,
        "clock",
        Grade.WARNING if skew < _SKEW_HARMFUL else Grade.FAILURE,
        f"is {skew.total_seconds():.0f} s {ahead} that of this machine: ages, lags and what depends on them are off"
        " by that",
        "have chrony or ntpd set the clock of this machine, and those of the cluster's masters",
    )
