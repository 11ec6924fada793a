"""Faults that a test turns on: which requests go wrong, and how."""

from __future__ import annotations

import asyncio
import itertools
import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeAlias

from yt_wire.error import ErrorCode, YtError


@dataclass(frozen=True, slots=True)
class Refuse:
    """An error in place of the answer; the command is not executed."""

    kind: ClassVar = "refuse"

    error: YtError = field(default_factory=lambda: YtError("Refused by a fault switch", ErrorCode.UNAVAILABLE))


@dataclass(frozen=True, slots=True)
class Delay:
    """The right answer, after a while; the command is executed at the end of it."""

    kind: ClassVar = "delay"

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang:
    """No answer, until the fault is turned off; then the connection is closed. The command is not executed."""

    kind: ClassVar = "hang"


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection is closed without an answer."""

    kind: ClassVar = "drop"

    executed: bool = False
    """Whether the command is executed before: what is lost is the request, or only its answer."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The first half of the right answer, then the connection is closed; the command is executed."""

    kind: ClassVar = "cut"


@dataclass(frozen=True, slots=True)
class HttpStatus:
    """A bare HTTP status without an error document, as a balancer gives; the command is not executed."""

    kind: ClassVar = "http_status"

    status: int


OnCommand: TypeAlias = Refuse | Delay
"""What happens to one command, in a batch to that part of it alone."""

OnConnection: TypeAlias = Hang | Drop | Cut | HttpStatus
"""What happens to a whole request, whichever part of it is concerned."""

Effect: TypeAlias = OnCommand | OnConnection


@dataclass(frozen=True, slots=True)
class Scope:
    """Which requests are meant."""

    commands: frozenset[str] = frozenset()
    """Names of commands; empty: all."""

    path: str = ""
    """Text to be found in a path, or in a query, among the parameters."""

    def concerns(self, command: str, parameters: Mapping[str, Any]) -> bool:
        """Whether it is about this command."""
        if self.commands and command not in self.commands:
            return False
        return not self.path or any(self.path in text for text in _texts(parameters))

    def concerns_any(self, command: str, parameters: Mapping[str, Any]) -> bool:
        """Whether it is about this command or, of a batch, about any of its parts."""
        return any(self.concerns(*part) for part in _parts(command, parameters))


EVERYTHING: Final = Scope()


class Fault:
    """One fault, on or used up.

    Args:
        number: names it.
        effect: what happens.
        scope: to which requests.
        count: to how many of them; None: to all.
    """

    def __init__(self, number: int, effect: Effect, scope: Scope, count: int | None) -> None:
        self.number = number
        self.effect = effect
        self.scope = scope
        self.remaining = count
        self.hits = 0
        """Requests that it befell so far."""
        self.ended = asyncio.Event()
        """Set when it is turned off; being used up is not that."""

    def befall(self) -> None:
        """Count one request."""
        self.hits += 1
        if self.remaining is not None:
            self.remaining -= 1

    async def hold(self, seconds: float) -> None:
        """Wait, but not beyond the moment in which the fault is turned off."""
        try:
            async with asyncio.timeout(seconds):
                await self.ended.wait()
        except TimeoutError:
            return


class Faults:
    """Faults of one cluster; without any, a cluster is as it should be.

    Args:
        known_commands: names that may occur.
    """

    def __init__(self, known_commands: Collection[str]) -> None:
        self._known_commands = known_commands
        self._faults: dict[int, Fault] = {}
        self._numbers = itertools.count(1)
        self._off_until = -math.inf

    def add(self, effect: Effect, scope: Scope = EVERYTHING, count: int | None = None) -> Fault:
        """Turn on a fault; where several concern a request, the one that was turned on first befalls it.

        Raises:
            YtError: there is no such command.
        """
        for name in sorted(scope.commands.difference(self._known_commands)):
            raise YtError(f'Unknown command "{name}"')
        fault = Fault(next(self._numbers), effect, scope, count)
        self._faults[fault.number] = fault
        return fault

    def remove(self, number: int) -> None:
        """Turn off a fault, if it is there still; requests that it delays go on."""
        fault = self._faults.pop(number, None)
        if fault:
            fault.ended.set()

    def clear(self) -> None:
        """Turn off all faults, and the cluster on."""
        for number in list(self._faults):
            self.remove(number)
        self.turn_on()

    @contextmanager
    def active(self, effect: Effect, scope: Scope = EVERYTHING, count: int | None = None) -> Iterator[Fault]:
        """A fault for a while."""
        fault = self.add(effect, scope, count)
        try:
            yield fault
        finally:
            self.remove(fault.number)

    def find(self, number: int) -> Fault | None:
        return self._faults.get(number)

    @property
    def all(self) -> Sequence[Fault]:
        """In the order in which they were turned on, used up ones included."""
        return list(self._faults.values())

    def turn_off(self, seconds: float = math.inf) -> None:
        """Let nobody reach the cluster for so long: connections are closed, other clusters find it unavailable."""
        self._off_until = time.monotonic() + seconds

    def turn_on(self) -> None:
        self._off_until = -math.inf

    @property
    def is_off(self) -> bool:
        return time.monotonic() < self._off_until

    async def before(self, command: str, parameters: Mapping[str, Any]) -> None:
        """Let befall one command what is to befall it before it is executed.

        Raises:
            YtError: it is refused.
        """
        for fault in list(self._faults.values()):
            if not isinstance(fault.effect, OnCommand) or fault.remaining == 0:
                continue
            if not fault.scope.concerns(command, parameters):
                continue
            fault.befall()
            if isinstance(fault.effect, Refuse):
                raise fault.effect.error
            await fault.hold(fault.effect.seconds)
            return

    def take_connection_fault(self, command: str, parameters: Mapping[str, Any]) -> Fault | None:
        """What is to befall a whole request; it is counted."""
        for fault in self._faults.values():
            if isinstance(fault.effect, OnCommand) or fault.remaining == 0:
                continue
            if fault.scope.concerns_any(command, parameters):
                fault.befall()
                return fault
        return None


def _parts(command: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """A command and, if it is a batch, those in it; parameters have not been checked yet."""
    yield command, parameters
    requests = parameters.get("requests") if command == "execute_batch" else None
    for part in requests if isinstance(requests, list) else ():
        if isinstance(part, dict) and isinstance(part.get("command"), str):
            part_parameters = part.get("parameters")
            yield str(part["command"]), part_parameters if isinstance(part_parameters, dict) else {}


def _texts(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Parameters that are strings, or lists of them."""
    for value in parameters.values():
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, str):
                yield str(item)
