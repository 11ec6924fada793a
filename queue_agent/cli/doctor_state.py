"""Whether the state is as an agent needs it, and its user may do what an agent does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import Any, Final

from queue_agent.adapters.cluster.light_commands import LightCommand
from queue_agent.adapters.history.history_setup import HistorySetup
from queue_agent.adapters.state.config_document import ConfigDocument
from queue_agent.adapters.state.state_setup import StateSetup
from queue_agent.adapters.state.state_tables import StateTable, StateTables
from queue_agent.cli.findings import Finding, Grade
from queue_agent.cli.patient import Patient, refusal
from queue_agent.config.clusters import StateConfig
from queue_agent.config.exports import exporting_mode
from queue_agent.config.passes import ControllerConfig, trimming_mode
from queue_agent.core.exports.config import parse_exports
from queue_agent.core.exports.preview import ExportingMode
from queue_agent.core.state.dynamic_config import overlay
from queue_agent.core.state.migration import MigrationError, plan_migration
from queue_agent.core.state.rows import QueueRow, StateRows
from queue_agent.core.state.schema import LATEST_VERSION, tables_at
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.errors import ClusterError, ConfigError, ObjectNotFound
from yt_wire import yson

_OBJECTS_LOOKED_AT: Final = 500
"""Of each kind; a list of more is not asked about to its end."""

_SHOWN: Final = 3


async def check_tables(patient: Patient) -> Sequence[Finding]:
    """The state tables: that they are there, in which version, and that they are mounted."""
    root, init = patient.config.state.root, patient.queue_agent("init-state")
    subject = f"state {patient.config.state.cluster}:{root}"
    try:
        found = await StateSetup(patient.state, root).look()
    except ClusterError as error:
        return [refusal(subject, "tables", error)]
    tables, version = found.tables or {}, found.version
    elsewhere = _tables_elsewhere(patient.config.state)
    missing = [name for name in tables_at(0) if name not in tables and name not in elsewhere]
    if missing:
        detail = "there are none" if not tables else f"there is no {', '.join(missing)}"
        return [Finding(subject, "tables", Grade.FAILURE, detail, commands=[init])]
    unmounted = [name for name, table in tables.items() if name in tables_at(LATEST_VERSION) and not table.is_mounted]
    if unmounted:
        yt = patient.yt(patient.config.state.cluster)
        commands = [f"{yt} mount-table {quote(f'{root}/{name}')} --sync" for name in unmounted]
        detail = f"{', '.join(unmounted)} cannot be read: not mounted"
        return [Finding(subject, "tables", Grade.FAILURE, detail, commands=commands)]
    for table in elsewhere.values():
        problem = await _find_problem(patient, table)
        if problem is not None:
            return [problem]
    if version is not None and version > LATEST_VERSION:
        detail = f"version {version} is newer than {LATEST_VERSION}, the newest this agent knows"
        return [Finding(subject, "tables", Grade.WARNING, detail, "is there a newer version of this agent?")]
    try:
        plan = plan_migration(found)
    except MigrationError as error:
        return [Finding(subject, "tables", Grade.WARNING, str(error), "see docs/running.md, State tables")]
    if plan:
        steps = "; ".join(map(str, plan))
        told = "without one" if version is None else str(version)
        detail = f"version {told}: the agent works with it, without what newer ones hold. Still to do: {steps}"
        return [Finding(subject, "tables", Grade.WARNING, detail, commands=[init])]
    return [Finding(subject, "tables", Grade.OK, f"version {version}, all mounted")]


def _tables_elsewhere(state: StateConfig) -> Mapping[str, CrossClusterRef]:
    """Those of the tables that the configuration puts elsewhere, by their usual names."""
    tables = {
        "consumer_registrations": state.registrations,
        "replicated_table_mapping": state.mapping,
        "queue_agent_object_mapping": state.hosts,
    }
    return {
        name: table for name, table in tables.items() if table != CrossClusterRef(state.cluster, f"{state.root}/{name}")
    }


async def _find_problem(patient: Patient, table: CrossClusterRef) -> Finding | None:
    subject = f"state {table}"
    try:
        tablet_state = str(await patient.clusters[table.cluster].get(f"{table.path}/@tablet_state"))
    except ObjectNotFound:
        advice = f"make it with the schema of the table of that name below {patient.config.state.root}, and mount it"
        return Finding(subject, "tables", Grade.FAILURE, "it does not exist", advice)
    except ClusterError as error:
        return refusal(subject, "tables", error)
    if tablet_state != "mounted":
        mount = f"{patient.yt(table.cluster)} mount-table {quote(table.path)} --sync"
        return Finding(subject, "tables", Grade.FAILURE, f"it is {tablet_state}", commands=[mount])
    return None


async def check_history(patient: Patient) -> Sequence[Finding]:
    """The queue and the producer of the history, if there is to be one."""
    if patient.config.history is None:
        return []
    tables = patient.config.history_tables
    subject = f"history {tables.queue}"
    try:
        steps = await HistorySetup(patient.clusters[tables.queue.cluster], tables).plan()
    except ClusterError as error:
        return [refusal(subject, "tables", error)]
    if steps:
        detail = f"there is still to do: {'; '.join(map(str, steps))}"
        return [Finding(subject, "tables", Grade.FAILURE, detail, commands=[patient.queue_agent("init-state")])]
    return [Finding(subject, "tables", Grade.OK, "queue and producer are mounted")]


async def check_options(patient: Patient) -> Sequence[Finding]:
    """The document that changes options of a running agent; and what becomes of trimming."""
    config, path = patient.config, patient.config.dynamic_config_path
    document: Any = None
    if config.dynamic_config_manager.enable:
        try:
            document = await ConfigDocument(patient.state, path).find()
        except ClusterError as error:
            return [refusal(f"options {path}", "document", error)]
    if document is None:
        found = Finding(f"options {path}", "document", Grade.OK, "there is none: the file alone counts")
        return [found, *_tell_actions(patient, config.queue_agent.controller)]
    try:
        if not isinstance(document, Mapping):
            raise ConfigError("it is not a map")
        laid = overlay(config.sections(), document)
        config = config.with_sections(laid.sections)
    except ConfigError as error:
        remove = f"{patient.yt(config.state.cluster)} remove {quote(path)}"
        advice = "write there what docs/configuration.md allows, or remove it"
        detail = f"it makes no sense: {error}"
        return [Finding(f"options {path}", "document", Grade.FAILURE, detail, advice, [remove])]
    detail = "in force"
    if laid.unrecognized:
        detail += f"; without a meaning for this agent: {', '.join(laid.unrecognized)}"
    found = Finding(f"options {path}", "document", Grade.OK, detail)
    return [found, *_tell_actions(patient, config.queue_agent.controller)]


async def check_permissions(patient: Patient, users: Mapping[str, str | None]) -> Sequence[Finding]:
    """What the agent's user may do to the state, and to the objects of the stage on clusters that answer."""
    config = patient.config
    root = config.state.root
    findings = [
        await _check_nodes(
            patient,
            users,
            f"state {config.state.cluster}:{root}",
            {
                "read": [CrossClusterRef(config.state.cluster, root), config.state.registrations],
                "write": [CrossClusterRef(config.state.cluster, root), config.state.hosts],
            },
        )
    ]
    try:
        rows = await _state_tables(patient).read()
    except ClusterError as error:
        return [*findings, refusal("state", "rows", error)]
    permissions = {"read": list(_objects(rows, config.stage, users))}
    if config.trimming_ceiling == "allowed":
        queues = {row.queue for row in rows.queues}
        permissions["write"] = [ref for ref in permissions["read"] if ref in queues]
    findings.append(await _check_nodes(patient, users, f"objects of stage {config.stage}", permissions))
    directories = list(_export_directories(rows, config.stage, users))
    if directories and config.static_exports_ceiling == "allowed":
        findings.append(await _check_nodes(patient, users, "directories of static exports", {"write": directories}))
    return findings


def _state_tables(patient: Patient) -> StateTables:
    state = patient.config.state
    tables = (
        StateTable(patient.clusters[table.cluster], table.path)
        for table in (state.registrations, state.mapping, state.hosts)
    )
    return StateTables(patient.state, state.root, *tables)


async def first_queues(patient: Patient, users: Collection[str]) -> Sequence[CrossClusterRef]:
    """A queue of the stage on each cluster that answers and has one.

    Raises:
        ClusterError: the state cannot be read.
    """
    queues = [row.queue for row in await served_queues(patient, users)]
    return list({queue.cluster: queue for queue in reversed(queues)}.values())


async def served_queues(patient: Patient, users: Collection[str]) -> Sequence[QueueRow]:
    """Rows of the queues of the stage on clusters that answer, sorted by queue.

    Raises:
        ClusterError: the state cannot be read.
    """
    rows = await _state_tables(patient).read()
    found = [row for row in rows.queues if _is_served(row, patient.config.stage, users, row.queue)]
    return sorted(found, key=lambda row: row.queue)


def _objects(rows: StateRows, stage: str, users: Mapping[str, str | None]) -> Iterator[CrossClusterRef]:
    """Queues and consumers of the stage, on clusters that answer."""
    queues = [row.queue for row in rows.queues if _is_served(row, stage, users, row.queue)]
    consumers = {row.consumer.table for row in rows.consumers if _is_served(row, stage, users, row.consumer)}
    yield from sorted(queues)[:_OBJECTS_LOOKED_AT]
    yield from sorted(consumers)[:_OBJECTS_LOOKED_AT]


def _export_directories(rows: StateRows, stage: str, users: Mapping[str, str | None]) -> Iterator[CrossClusterRef]:
    """Where queues of the stage are exported to, on clusters that answer; what makes no sense goes nowhere."""
    for row in sorted(rows.queues, key=lambda row: row.queue)[:_OBJECTS_LOOKED_AT]:
        if not _is_served(row, stage, users, row.queue):
            continue
        with suppress(ValueError):
            for export in parse_exports(row.static_export_config).values():
                yield CrossClusterRef(row.queue.cluster, export.directory)


def _is_served(row: Any, stage: str, users: Collection[str], ref: CrossClusterRef) -> bool:
    return row.queue_agent_stage == stage and not row.queue_agent_banned and ref.cluster in users


async def _check_nodes(
    patient: Patient,
    users: Mapping[str, str | None],
    subject: str,
    permissions: Mapping[str, Sequence[CrossClusterRef]],
) -> Finding:
    """Whether the agent's user has permissions for nodes, on each cluster as whom it is known there."""
    denied: list[tuple[str, CrossClusterRef]] = []
    gone: list[CrossClusterRef] = []
    asked = 0
    for permission, refs in permissions.items():
        for cluster, user in users.items():
            if user is None:
                continue
            here = [ref for ref in refs if ref.cluster == cluster]
            asked += len(here)
            questions = [
                LightCommand.of("check_permission", ref.path, user=user, permission=permission) for ref in here
            ]
            try:
                outcomes = await patient.clusters[cluster].find_all(questions)
            except ClusterError as error:
                return refusal(subject, "permissions", error)
            for ref, outcome in zip(here, outcomes, strict=True):
                if isinstance(outcome, ObjectNotFound):
                    gone.append(ref)
                elif isinstance(outcome, ClusterError):
                    return refusal(subject, "permissions", outcome)
                elif str(outcome["action"]) != "allow":
                    denied.append((permission, ref))
    if denied:
        shown = [f"{permission} of {ref}" for permission, ref in denied[:_SHOWN]]
        more = f" and {len(denied) - _SHOWN} more" if len(denied) > _SHOWN else ""
        commands = [
            f"{patient.yt(ref.cluster)} set {quote(f'{ref.path}/@acl/end')} {_grant(users[ref.cluster], permission)}"
            for permission, ref in denied[:_SHOWN]
        ]
        detail = f"lacking: {', '.join(shown)}{more}"
        return Finding(subject, "permissions", Grade.FAILURE, detail, commands=commands)
    if not asked:
        return Finding(subject, "permissions", Grade.SKIPPED, "no object or no user to check")
    detail = f"{' and '.join(permissions)}, all there" if not gone else f"all there, but {gone[0]} does not exist"
    return Finding(subject, "permissions", Grade.OK, detail)


def _tell_actions(patient: Patient, controller: ControllerConfig) -> Sequence[Finding]:
    """What the agent does besides looking, with these options in force."""
    return [_tell_trimming(patient, controller), _tell_exports(patient, controller)]


def _tell_exports(patient: Patient, controller: ControllerConfig) -> Finding:
    match exporting_mode(patient.config.static_exports_ceiling, controller.queue_exporter):
        case ExportingMode.EXPORT:
            detail = "on, for queues that ask for it in @static_export_config"
        case ExportingMode.OBSERVE:
            detail = "off; what would be exported is decided and logged"
        case ExportingMode.OFF:
            detail = "off: this agent makes no tables"
    return Finding("options", "static exports", Grade.OK, detail)


def _tell_trimming(patient: Patient, controller: ControllerConfig) -> Finding:
    match trimming_mode(patient.config.trimming_ceiling, controller):
        case TrimmingMode.TRIM:
            detail = "on, for queues that ask for it in @auto_trim_config"
        case TrimmingMode.OBSERVE:
            detail = "off; what would be trimmed is decided and published"
        case TrimmingMode.OFF:
            detail = "off: this agent deletes nothing"
    return Finding("options", "trimming", Grade.OK, detail)


def _grant(user: str | None, permission: str) -> str:
    """An entry of an ACL as one word of a shell."""
    entry = {"action": "allow", "subjects": [user], "permissions": [permission]}
    return quote(yson.dumps(entry, "text").decode())
