from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt_wire.seats import Departure, Limits, Phase, Reason, Seat, Seats

LIMITS = Limits(
    max_connections=16,
    max_connections_per_address=8,
    max_held_bytes=1000,
    message_seconds=10,
    answer_seconds=60,
    idle_seconds=600,
)


class World:
    """Seats, a clock, and who has left."""

    def __init__(self, limits: Limits = LIMITS) -> None:
        self.seats = Seats(limits)
        self.now = 0.0
        self.left: list[Departure] = []

    def come(self, address: str, phase: Phase = Phase.OPENING, held: int = 0) -> Seat:
        self.now += 0.001
        seat, departures = self.seats.admit(address, self.now)
        self.left += departures
        self.left += self.seats.update(seat, phase, held, self.now)
        return seat

    def gone(self) -> Sequence[Seat]:
        return [seat for seat, _ in self.left]


def test_an_address_gets_no_more_than_its_share_and_a_newcomer_always_a_seat() -> None:
    world = World()
    seats = [world.come("attacker") for _ in range(20)]
    assert world.left == [(seat, Reason.ADDRESS_FULL) for seat in seats[:12]]
    assert world.seats.count == 8


def test_peers_that_have_done_nothing_leave_before_all_others() -> None:
    world = World()
    masters = [world.come(f"master-{number}", Phase.IDLE) for number in range(8)]
    attackers = [world.come(f"attacker-{number}") for number in range(100)]
    assert set(world.gone()) == set(attackers[:-8])
    assert not set(masters) & set(world.gone())
    assert {reason for _, reason in world.left} == {Reason.FULL}


@pytest.mark.parametrize("phase", [Phase.IDLE, Phase.READING, Phase.SERVED, Phase.SENDING])
def test_who_has_the_most_connections_loses_one_whatever_it_does_with_them(phase: Phase) -> None:
    world = World()
    masters = [world.come(f"master-{number}", Phase.IDLE) for number in range(4)]
    for number in range(100):
        world.come(f"attacker-{number % 2}", phase)
    assert not set(masters) & set(world.gone())


def test_the_newest_that_have_said_nothing_yet_are_heard_before_they_have_to_leave() -> None:
    world = World()
    for _ in range(100):
        world.come("shared", Phase.IDLE)
    probe = world.come("shared")
    world.come("shared")
    assert probe not in world.gone()


def test_of_one_address_those_it_waits_for_leave_before_those_being_served() -> None:
    world = World()
    served = world.come("shared", Phase.SERVED)
    for _ in range(20):
        world.come("shared", Phase.IDLE)
    assert served not in world.gone()


def test_who_holds_the_most_bytes_leaves_when_all_hold_too_much() -> None:
    world = World()
    modest = world.come("modest", Phase.READING, 300)
    greedy = [world.come("greedy", Phase.SENDING, 200) for _ in range(4)]
    assert world.left == [(greedy[0], Reason.MEMORY)]
    assert modest not in world.gone()
    assert world.seats.held == 900


def test_one_that_holds_too_much_alone_may_go_on() -> None:
    world = World()
    world.come("one", Phase.READING, 5000)
    assert not world.left


@pytest.mark.parametrize(
    ("phase", "seconds", "reason"),
    [
        (Phase.OPENING, 10, Reason.NO_MESSAGE),
        (Phase.SENDING, 10, Reason.NO_MESSAGE),
        (Phase.READING, 60, Reason.NOT_READ),
        (Phase.IDLE, 600, Reason.IDLE),
    ],
)
def test_everything_a_peer_has_to_do_has_its_time(phase: Phase, seconds: float, reason: Reason) -> None:
    world = World()
    seat = world.come("peer", phase)
    world.now = seat.since + seconds
    # A little more of the same is no new beginning.
    assert not world.seats.update(seat, phase, 1, world.now)
    assert world.seats.overdue(world.now) == []
    assert world.seats.overdue(world.now + 1) == [(seat, reason)]
    assert world.seats.count == 0


def test_a_new_message_has_its_own_time_and_a_request_at_work_has_all_the_time() -> None:
    world = World()
    sending, served = world.come("peer", Phase.SENDING), world.come("peer", Phase.SERVED)
    world.seats.update(sending, Phase.SENDING, 0, 9, restart=True)
    assert world.seats.overdue(18) == []
    assert world.seats.overdue(20) == [(sending, Reason.NO_MESSAGE)]
    assert world.seats.overdue(math.inf) == []
    assert served.phase is Phase.SERVED


def test_whoever_has_left_is_not_counted_any_more() -> None:
    world = World()
    seat = world.come("peer", Phase.IDLE, 10)
    world.seats.remove(seat)
    world.seats.remove(seat)
    assert not world.seats.update(seat, Phase.SENDING, 99, 1)
    assert (world.seats.count, world.seats.held) == (0, 0)


@given(st.integers(), st.integers(min_value=1, max_value=30))
def test_limits_hold_whatever_happens(seed: int, capacity: int) -> None:
    choices = random.Random(seed)
    world = World(replace(LIMITS, max_connections=capacity))
    here: list[Seat] = []
    for _ in range(200):
        match choices.randrange(4):
            case 0 | 1:
                here.append(world.come(choices.choice("abcdefgh"), choices.choice(list(Phase)), choices.randrange(300)))
            case 2 if here:
                seat = choices.choice(here)
                phase, restart = choices.choice(list(Phase)), choices.random() < 0.5
                world.left += world.seats.update(seat, phase, choices.randrange(300), world.now, restart=restart)
            case 3 if here:
                world.seats.remove(here.pop(choices.randrange(len(here))))
        gone = set(world.gone())
        assert len(gone) == len(world.left)
        here = [seat for seat in here if seat not in gone]
        assert world.seats.count == len(here) <= capacity
        assert world.seats.held == sum(seat.held for seat in here)
        assert world.seats.held <= LIMITS.max_held_bytes
        for address in "abcdefgh":
            assert sum(seat.address == address for seat in here) <= LIMITS.max_connections_per_address
