"""How the parts of an agent are connected: what works, what it works with, and what is served of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from queue_agent.adapters.exports.yt_exports import YtExports
from queue_agent.adapters.group.peer_client import PeerClient
from queue_agent.adapters.process.build import VERSION
from queue_agent.adapters.serving.console_api import Counter
from queue_agent.adapters.serving.http_api import HttpApi
from queue_agent.adapters.serving.metrics_port import MetricsPort
from queue_agent.adapters.serving.orchid import OrchidServer
from queue_agent.adapters.serving.own_answers import OwnAnswers, Planners
from queue_agent.adapters.serving.peer_server import peer_service
from queue_agent.adapters.serving.tls import ServerTls
from queue_agent.adapters.state.audit_table import AuditTable
from queue_agent.adapters.state.config_document import ConfigDocument
from queue_agent.adapters.state.event_table import EventTable
from queue_agent.adapters.state.ledger_table import LedgerTable
from queue_agent.adapters.state.quarantine_table import QuarantineTable
from queue_agent.adapters.trimming.trim_journal import TrimJournalTable
from queue_agent.app.parts import Entrance, Ground, Links, Telling, Wakes
from queue_agent.app.schedules import Timetable
from queue_agent.config.agent import AgentConfig
from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.consumers.ledger_keeper import LedgerKeeper
from queue_agent.controllers.consumers.multi_consumer_controller import MultiConsumerController
from queue_agent.controllers.exports.exports import ExportManager
from queue_agent.controllers.group.leadership import Leadership
from queue_agent.controllers.group.membership import Membership
from queue_agent.controllers.group.sharding import ShardingManager
from queue_agent.controllers.passes.origins import Origins
from queue_agent.controllers.queues.account_watch import AccountWatch
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.controllers.rounds.agent import Agent, Fleets
from queue_agent.controllers.rounds.fleet import Fleet
from queue_agent.controllers.rounds.rounds import Rounds
from queue_agent.controllers.state.connections import Connections
from queue_agent.controllers.state.discovery import Synchronizer
from queue_agent.controllers.state.dynamic_config import DynamicConfig
from queue_agent.controllers.status.board import Board
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.status.events import EventKeeper
from queue_agent.controllers.status.forwarding import Forwarder
from queue_agent.controllers.status.orchid_tree import OrchidTree, Others, TreeFacts
from queue_agent.controllers.status.overview_feed import OverviewFeed
from queue_agent.controllers.status.record_writer import RecordWriter
from queue_agent.controllers.status.stage import Stage
from queue_agent.controllers.status.stage_overview import StageOverview
from queue_agent.controllers.status.stand_ins import StandIns
from queue_agent.controllers.status.trim_book import TrimBook
from queue_agent.controllers.trimming.fresh_registrations import FreshRegistrations
from queue_agent.controllers.trimming.journal import TrimJournalKeeper
from queue_agent.controllers.trimming.preview import TrimPreviewer
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.trim_journal import TrimRecord
from queue_agent.core.trimming.grace import Graces
from queue_agent.core.values.encoding import encode_instant
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.ports.status import SeriesSource, SeriesTeller

_CHANNEL_TIMEOUT_SECONDS: Final = 50.0
"""Masters wait a minute for an answer; that of another agent is to be there before."""


@dataclass(frozen=True, slots=True)
class Workers:
    """What works for the agent as a whole, and what the controllers of single objects share."""

    control: Origins
    """Of errors."""

    context: ControllerContext
    journal: RecordWriter[TrimRecord]
    ledger: LedgerKeeper
    events: EventKeeper
    connections: Connections
    accounts: AccountWatch
    synchronizer: Synchronizer
    dynamic: DynamicConfig
    membership: Membership
    exports: ExportManager


@dataclass(frozen=True, slots=True)
class Managers:
    """What says which objects are led here, and has them led."""

    agent: Agent
    sharding: ShardingManager


def wire_workers(ground: Ground, wakes: Wakes, telling: Telling, links: Links, leadership: Leadership) -> Workers:
    """All that needs no port to be open."""
    config, board, clock, metrics = ground.config, ground.board, ground.clock, telling.metrics
    control = ground.origins("Control:0")
    journal_table = TrimJournalTable(links.state, config.state.root)
    journal = TrimJournalKeeper(journal_table, board, clock, control, metrics)
    ledger_table = LedgerTable(links.state, config.state.root, clock.now)
    ledger = LedgerKeeper(ledger_table, leadership, board, clock, control, metrics)
    root = config.state.root
    events = EventKeeper(EventTable(links.state, root), AuditTable(links.state, root), board, clock, control, metrics)
    connections = Connections(links.clusters, config.state.registrations, board, clock, control, metrics)
    context = ControllerContext(
        board=board,
        clusters=links.clusters,
        export_clusters={name: YtExports(cluster) for name, cluster in links.clusters.items()},
        clock=clock,
        observer=metrics,
        config=config.queue_agent.controller,
        trimming=config.trimming_ceiling,
        static_exports=config.static_exports_ceiling,
        journal=journal,
        trims=TrimBook(journal_table, clock),
        graces=Graces(),
        quarantine=None if config.quarantine is None else config.quarantine.terms(),
        quarantines=QuarantineTable(links.state, config.state.root),
        ledger=ledger,
        events=events,
        connections=connections,
        leadership=leadership,
        registrations=FreshRegistrations(links.store),
    )
    synchronizer = Synchronizer(
        links.clusters,
        config.cypress_synchronizer,
        links.store,
        board,
        wakes.written,
        clock,
        control,
        metrics,
        lambda: leadership.keeps_tables,
    )
    apply = partial(_apply, ground.timetable, context, synchronizer)
    document = ConfigDocument(links.state, config.dynamic_config_path)
    dynamic = DynamicConfig(config, document, apply, board, clock, control, metrics)
    apply(dynamic.current)
    exports = ExportManager(
        context,
        ground.origins("Exports:0"),
        metrics.exports,
        lambda: dynamic.current.queue_agent.queue_export_manager.export_rate_limit,
        partial(ground.randomness.uniform, -1.0, 1.0),
    )
    membership = Membership(links.members, leadership, board, wakes.regroup, wakes.elected, clock, control, metrics)
    accounts = AccountWatch(links.clusters, board, clock, metrics)
    return Workers(
        control, context, journal, ledger, events, connections, accounts, synchronizer, dynamic, membership, exports
    )


def _apply(timetable: Timetable, context: ControllerContext, synchronizer: Synchronizer, changed: AgentConfig) -> None:
    """Have everybody go by a configuration that comes into force."""
    timetable.change(changed)
    context.config = changed.queue_agent.controller
    synchronizer.configure(changed.cypress_synchronizer)


async def open_ports(
    stack: AsyncExitStack,
    ground: Ground,
    entrance: Entrance,
    telling: Telling,
    workers: Workers,
    leadership: Leadership,
    series: SeriesSource,
    teller: SeriesTeller,
    counter: Counter,
) -> tuple[str, str]:
    """Serve what is known; OSError if a port cannot be bound.

    Returns:
        `host:port` as bound, of RPC and of HTTP.
    """
    config, board, clock = ground.config, ground.board, ground.clock
    facts = TreeFacts(
        version=VERSION,
        synchronizer_active=lambda: ground.timetable.now.synchronizer.enable and leadership.keeps_tables,
        sharding_active=lambda: leadership.distributes,
        display_limit=lambda: workers.dynamic.current.queue_agent.inactive_object_display_limit,
        nodes=_config_nodes(config, workers.dynamic) if config.expose_config_in_orchid else {},
    )
    peers = await stack.enter_async_context(PeerClient())
    forwarder = Forwarder(peers, board, config.membership.lease.total_seconds(), _CHANNEL_TIMEOUT_SECONDS)
    tree = OrchidTree(board, facts, clock, Others(forwarder, _stand_ins(ground, workers)))
    planners = Planners(TrimPreviewer(workers.context, workers.control), workers.exports)
    feed, stage = OverviewFeed(board, clock, series), Stage(peers, board, forwarder)
    own = OwnAnswers(board, planners, teller, feed, partial(_describe, config, board, clock.now(), leadership))
    rpc = await stack.enter_async_context(OrchidServer(tree, entrance.rpc, entrance.gate, peer_service(own)))
    tls = None if config.http.tls is None else ServerTls(config.http.tls)
    listen, metrics = config.metrics.listen, telling.server
    if listen is not None:
        await stack.enter_async_context(MetricsPort(metrics, listen.host, listen.port, entrance.gate, tls))
    http = await stack.enter_async_context(
        HttpApi(
            board,
            metrics if listen is None else None,
            tree,
            clock,
            config.http.host,
            config.http.port,
            entrance.gate,
            own,
            stage,
            StageOverview(feed, stage, board, clock),
            workers.events,
            counter,
            tls,
            ground.pulse.find_hung,
        )
    )
    return rpc.address, f"{config.http.host}:{http.port}"


def _stand_ins(ground: Ground, workers: Workers) -> StandIns:
    """What looks at objects of other agents, with boards of its own; it leads none of them."""
    context, origins = workers.context, ground.origins("StandIn:0")

    def look_at_queue(ref: CrossClusterRef, role: Role, board: Board) -> QueueController:
        return QueueController(ref, role, replace(context, board=board), origins)

    def look_at_consumer(ref: CrossClusterRef, role: Role, board: Board) -> ConsumerController:
        return ConsumerController(ref, role, replace(context, board=board), origins)

    return StandIns(ground.board, ground.config.host, look_at_queue, look_at_consumer, ground.clock, origins)


def _describe(config: AgentConfig, board: Board, started: datetime, leadership: Leadership) -> Mapping[str, Any]:
    """Facts of this agent, for the list of all."""
    return {
        "version": VERSION,
        "host": config.host,
        "stage": config.stage,
        "http_port": config.http.port,
        "start_time": encode_instant(started),
        "is_member": leadership.is_member,
        "is_banned": leadership.address in board.group.banned,
        "keeps_tables": leadership.keeps_tables,
        "distributes": leadership.distributes,
    }


def _config_nodes(config: AgentConfig, dynamic: DynamicConfig) -> Mapping[str, Callable[[], Any]]:
    """Nodes of the agent's tree."""
    return {"config": lambda: config.model_dump(mode="json"), "dynamic_config_manager": dynamic.node}


def wire_managers(
    ground: Ground,
    wakes: Wakes,
    telling: Telling,
    links: Links,
    workers: Workers,
    leadership: Leadership,
    rounds: Rounds,
) -> Managers:
    """What starts and stops the controllers of single objects."""
    config, context, dynamic = ground.config, workers.context, workers.dynamic
    about_passes = ground.clock, workers.control, telling.metrics

    def origins() -> Origins:
        return ground.origins("Controller:0")

    fleets = Fleets(
        Fleet(rounds, lambda ref, role: QueueController(ref, role, context, origins())),
        Fleet(rounds, lambda ref, role: ConsumerController(ref, role, context, origins())),
        Fleet(rounds, lambda ref, role: MultiConsumerController(ref, links.store, context, origins())),
    )
    agent = Agent(
        config.stage,
        links.store,
        ground.board,
        fleets,
        leadership,
        *about_passes,
        lambda: dynamic.current.queue_agent.handle_replicated_objects,
        wakes.regroup,
        context.events,
    )
    sharding = ShardingManager(
        config.stage,
        links.members,
        links.store,
        lambda: agent.state,
        leadership,
        workers.membership,
        lambda: ground.timetable.now.synchronizer.enable,
        ground.board,
        wakes.written,
        *about_passes,
    )
    return Managers(agent, sharding)
