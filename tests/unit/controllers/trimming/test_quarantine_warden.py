"""Quarantines of one queue from iteration to iteration: what is written, and who is released."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from queue_agent.controllers.consumers.consumer_controller import ConsumerController
from queue_agent.controllers.trimming.quarantine_warden import Attended, QuarantineWarden
from queue_agent.core.group.lease import Hold
from queue_agent.core.queues.snapshots import Role
from queue_agent.core.state.quarantines import Commit, Quarantine, QuarantineTerms
from queue_agent.core.state.rows import Registration
from queue_agent.core.state.trim_config import TrimmingMode
from queue_agent.core.values.refs import CrossClusterRef
from queue_agent.core.values.terms import Term
from queue_agent.core.verdicts.price import Price
from queue_agent.errors import ActionRefused, ClusterError
from queue_agent.ports.cluster import Permit
from tests.unguarded import NoOtherAgents, RememberEvents
from tests.unit.controllers.agent_world import CONSUMER, CONSUMER_ATTRIBUTES, QUEUE, QUEUE_ATTRIBUTES, START, World
from tests.unit.core.trimming.plans import ORIGIN

LIVE = CrossClusterRef("hume", "//tmp/live")
TERMS = QuarantineTerms(timedelta(days=7), timedelta(seconds=90), 3600)
ALLOWED = {**QUEUE_ATTRIBUTES, "queue_agent_quarantine": {"enable": True}}
PRICE = Price(58, None, 0, None, None, TERMS.after.total_seconds(), is_dead=True)


@dataclass
class Store:
    """`ports.QuarantineStore` in memory; `broken` is what every request ends with, if set."""

    rows: dict[CrossClusterRef, Quarantine] = field(default_factory=dict)
    reads: int = 0
    broken: ClusterError | None = None

    def _ask(self) -> None:
        if self.broken is not None:
            raise self.broken

    async def read(self, queue: CrossClusterRef) -> Sequence[Quarantine]:
        self._ask()
        self.reads += 1
        return list(self.rows.values())

    async def write(self, queue: CrossClusterRef, quarantine: Quarantine) -> None:
        self._ask()
        self.rows[quarantine.consumer] = quarantine

    async def remove(self, queue: CrossClusterRef, consumer: CrossClusterRef) -> None:
        self._ask()
        del self.rows[consumer]


class Leads(NoOtherAgents):
    """`ports.LeadershipGuard` with a clock that is moved by hand."""

    def __init__(self) -> None:
        self.term = Term(0.0, 100.0)
        self.hold: Hold | None = None

    def find_term(self, refs: Collection[CrossClusterRef]) -> Term:
        return self.term

    def find_hold(self, refs: Collection[CrossClusterRef]) -> Hold | None:  # type: ignore[override] # it may have to wait
        return self.hold

    def pass_seconds(self, seconds: float) -> None:
        self.term = replace(self.term, now=self.term.now + seconds)


class Warded:
    """A queue with a dead vital consumer and a live one, and the warden of the queue."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.leads = Leads()
        self.store = Store()
        self.events = RememberEvents()
        world.context.quarantine = TERMS
        world.context.quarantines = self.store
        world.context.leadership = self.leads
        world.context.events = self.events
        self.warden = QuarantineWarden(QUEUE, world.context)

    def put_price(self, price: Price | None) -> None:
        snapshot = self.world.board.all_consumers[CONSUMER]
        verdict = replace(snapshot.verdicts[QUEUE], price=price)
        self.world.board.put_consumer(replace(snapshot, verdicts={QUEUE: verdict}))

    async def attend(self, mode: TrimmingMode = TrimmingMode.TRIM) -> Attended:
        snapshot = self.world.board.find_queue(QUEUE)
        assert snapshot is not None
        return await self.warden.attend(snapshot, mode, ORIGIN)

    async def wait(self, seconds: int) -> Attended:
        """Iterations of a second each; what the last one found."""
        for _ in range(seconds):
            self.leads.pass_seconds(1.0)
            attended = await self.attend()
        return attended

    @property
    def told(self) -> list[str]:
        return [event.kind for event in self.events.noted]


@pytest.fixture
async def warded() -> Warded:
    world = World()
    world.store.registrations.append(Registration(QUEUE, LIVE, vital=True))
    world.pythia.attributes[QUEUE.path] = ALLOWED
    world.hume.attributes[LIVE.path] = CONSUMER_ATTRIBUTES
    world.hume.revisions = replace(world.hume.revisions, consumers={CONSUMER.path: 6, LIVE.path: 6})
    await world.synchronize()
    await world.look()
    warded = Warded(world)
    warded.put_price(PRICE)
    return warded


async def test_it_is_announced_waits_starts_and_ends(warded: Warded) -> None:
    attended = await warded.attend()
    assert attended.released == []
    assert [one.state for one in attended.quarantines] == ["announced"]
    assert warded.store.rows[CONSUMER].commits == {0: Commit(42, 0)}
    assert warded.told == ["quarantine_announced"]
    assert warded.events.noted[0].reason == "Silent for 7 d, and holds 58 rows"
    attended = await warded.wait(89)
    assert (attended.released, attended.quarantines[0].left) == ([], timedelta(seconds=1))
    attended = await warded.wait(1)
    assert [one.consumer for one in attended.released] == [CONSUMER]
    assert 0 < attended.allowed <= 60
    assert warded.store.rows[CONSUMER].is_started
    warded.put_price(None)
    assert [one.consumer for one in (await warded.wait(1)).released] == [CONSUMER], "it holds nothing any more"
    warded.world.hume.offsets[CONSUMER.path, QUEUE] = {0: 43}
    attended = await warded.wait(1)
    assert (attended.released, attended.quarantines, warded.store.rows) == ([], [], {})
    assert warded.told == ["quarantine_announced", "quarantine_started", "quarantine_ended"]
    assert warded.events.noted[-1].reason == "The consumer has committed"
    assert warded.store.reads == 1, "as long as it leads, it knows what it has written"


async def test_who_observes_starts_nothing(warded: Warded) -> None:
    await warded.attend(TrimmingMode.OBSERVE)
    warded.leads.pass_seconds(60.0)
    await warded.attend(TrimmingMode.OBSERVE)
    warded.leads.pass_seconds(60.0)
    attended = await warded.attend(TrimmingMode.OBSERVE)
    assert [one.state for one in attended.quarantines] == ["announced"]
    assert attended.quarantines[0].left == timedelta(0)


async def test_without_terms_nothing_is_asked(warded: Warded) -> None:
    warded.world.context.quarantine = None
    assert not warded.warden.is_needed()
    assert await warded.attend() == Attended()
    assert warded.store.reads == 0


@pytest.mark.parametrize("price", [None, replace(PRICE, silent=PRICE.silent - 1)])
async def test_without_a_dead_consumer_nothing_is_asked(warded: Warded, price: Price | None) -> None:
    assert warded.warden.is_needed()
    warded.put_price(price)
    assert not warded.warden.is_needed()
    assert (await warded.attend()).quarantines == []
    assert warded.store.reads == 0


@pytest.mark.parametrize("attribute", [None, {"enable": False}, {"enable": True, "require_export": True}])
async def test_a_queue_that_does_not_allow_it_is_asked_once_a_minute(warded: Warded, attribute: Any) -> None:
    attributes = {**QUEUE_ATTRIBUTES, "queue_agent_quarantine": attribute}
    warded.world.pythia.attributes[QUEUE.path] = {k: v for k, v in attributes.items() if v is not None}
    assert (await warded.attend()).quarantines == []
    warded.world.pythia.attributes[QUEUE.path] = ALLOWED
    assert not warded.warden.is_needed()
    assert list((await warded.wait(59)).quarantines) == []
    assert len((await warded.wait(1)).quarantines) == 1


@pytest.mark.parametrize("attribute", [5, {"enable": "perhaps"}, {"enabled": True}])
async def test_an_attribute_that_makes_no_sense_is_told_and_releases_nobody(warded: Warded, attribute: Any) -> None:
    await warded.attend()
    await warded.wait(90)
    warded.world.pythia.attributes[QUEUE.path] = {**QUEUE_ATTRIBUTES, "queue_agent_quarantine": attribute}
    attended = await warded.wait(1)
    assert attended.released == ()
    assert attended.error is not None
    assert 'Attribute "queue_agent_quarantine" of pythia://tmp/q is invalid' in attended.error.inner_errors[0].message
    assert [one.state for one in attended.quarantines] == ["started"]


@pytest.mark.parametrize("cluster", ["pythia", "hume"])
async def test_what_cannot_be_read_releases_nobody(warded: Warded, cluster: str) -> None:
    await warded.attend()
    await warded.wait(90)
    warded.world.clusters[cluster].broken = ClusterError("down")
    attended = await warded.wait(1)
    assert (attended.released, attended.error is not None) == ((), True)
    warded.world.clusters[cluster].broken = None
    assert len((await warded.wait(1)).released) == 1


async def test_a_queue_that_allows_nothing_has_no_alert_whatever_fails(warded: Warded) -> None:
    warded.world.pythia.attributes[QUEUE.path] = QUEUE_ATTRIBUTES
    warded.store.broken = ClusterError("there is no such table")
    warded.world.hume.broken = ClusterError("down")
    assert await warded.attend() == Attended([], [], 0)
    assert not warded.warden.is_needed()
    await warded.wait(60)
    warded.world.pythia.broken = ClusterError("down")
    assert await warded.wait(60) == Attended()


async def test_a_consumer_whose_table_is_gone_ends_once_it_is_unregistered(warded: Warded) -> None:
    await warded.attend()
    warded.world.store.consumers.clear()
    warded.world.board.put_rows(await warded.world.store.read())
    assert (await warded.wait(1)).error is not None, "it is registered"
    warded.world.board.put_registrations([Registration(QUEUE, LIVE, vital=True)])
    attended = await warded.wait(1)
    assert (list(attended.quarantines), attended.error, warded.store.rows) == ([], None, {})
    assert warded.events.noted[-1].reason == "It is not registered as vital any more"


async def test_time_in_which_it_cannot_be_read_is_not_watched(warded: Warded) -> None:
    await warded.attend()
    warded.world.hume.broken = ClusterError("down")
    await warded.wait(80)
    warded.world.hume.broken = None
    attended = await warded.wait(1)
    assert attended.quarantines[0].waited == timedelta(seconds=1)


async def test_who_may_not_write_any_more_writes_nothing(warded: Warded) -> None:
    class Late:
        seconds = 0.0

        def check(self) -> None:
            raise ActionRefused("the lease is over")

    @contextmanager
    def acting(refs: Collection[CrossClusterRef]) -> Iterator[Permit]:
        yield Late()

    warded.leads.acting = acting  # type: ignore[method-assign] # its lease ends at this moment
    assert (await warded.attend()).error is not None
    assert (warded.store.rows, warded.told) == ({}, [])


async def test_what_cannot_be_written_is_not_true(warded: Warded) -> None:
    warded.store.broken = ClusterError("down")
    attended = await warded.attend()
    assert (list(attended.quarantines), attended.error is not None, warded.told) == ([], True, [])
    warded.store.broken = None
    await warded.attend()
    await warded.wait(89)
    warded.store.broken = ClusterError("down")
    attended = await warded.wait(1)
    assert (attended.released, attended.quarantines[0].state) == ((), "announced")
    assert warded.told == ["quarantine_announced"]


async def test_who_may_not_act_now_releases_nobody(warded: Warded) -> None:
    await warded.attend()
    await warded.wait(90)
    warded.leads.hold = Hold("another agent leads it, or none")
    attended = await warded.wait(1)
    assert (attended.released, [one.state for one in attended.quarantines]) == ((), ["started"])


async def test_a_new_leader_goes_on_from_the_table(warded: Warded) -> None:
    await warded.attend()
    await warded.wait(90)
    reads = warded.store.reads
    del warded.store.rows[CONSUMER]
    warded.leads.term = Term(300.0, 300.0)
    attended = await warded.attend()
    assert (attended.released, [one.state for one in attended.quarantines]) == ([], ["announced"])
    assert warded.store.reads == reads + 1
    warded.store.rows[CONSUMER] = replace(warded.store.rows[CONSUMER], is_started=True)
    another = QuarantineWarden(QUEUE, warded.world.context)
    snapshot = warded.world.board.find_queue(QUEUE)
    assert snapshot is not None
    assert len((await another.attend(snapshot, TrimmingMode.TRIM, ORIGIN)).released) == 1


async def test_a_new_leader_asks_about_all_that_the_table_has(warded: Warded) -> None:
    await warded.attend()
    await warded.wait(90)
    warded.put_price(None)
    live = ConsumerController(LIVE, Role.LEADING, warded.world.context, warded.world.origins)
    await live.do_pass(0)
    await live.do_pass(1)
    snapshot = warded.world.board.all_consumers[LIVE]
    verdict = replace(snapshot.verdicts[QUEUE], price=PRICE)
    warded.world.board.put_consumer(replace(snapshot, verdicts={QUEUE: verdict}))
    another = QuarantineWarden(QUEUE, warded.world.context)
    queue = warded.world.board.find_queue(QUEUE)
    assert queue is not None
    attended = await another.attend(queue, TrimmingMode.TRIM, ORIGIN)
    assert [(one.consumer, one.state) for one in attended.quarantines] == [(CONSUMER, "started")]


async def test_a_protected_consumer_is_let_alone(warded: Warded) -> None:
    await warded.attend()
    since = START.isoformat()
    warded.world.hume.attributes[CONSUMER.path] = {
        **CONSUMER_ATTRIBUTES,
        "queue_agent_protected": {str(QUEUE): since},
    }
    attended = await warded.wait(1)
    assert (attended.quarantines, warded.events.noted[-1].reason) == ([], "The consumer is protected")
