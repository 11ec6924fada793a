"""Where acts are asked for: a preview first, then the act itself, once, written down before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from queue_agent.controllers.acts.acknowledgement import prepare_acknowledgement
from queue_agent.controllers.acts.deeds import (
    Deed,
    Setting,
    prepare_ban,
    prepare_mounting,
    prepare_pause,
    prepare_registration,
)
from queue_agent.controllers.acts.protection import prepare_protection
from queue_agent.controllers.acts.reset_deed import prepare_reset
from queue_agent.core.access.acts import OF_AGENTS, ActKind, ActRequest
from queue_agent.core.access.previews import Prepared, Preview, Previews, find_changes
from queue_agent.core.state.audit_journal import AuditOutcome, AuditRecord
from queue_agent.errors import ActRefused, ClusterError, OutcomeUnknown
from queue_agent.ports.acts import AuditStore, Caller
from queue_agent.ports.passes import Clock
from yt_wire.scope import TaskScope

log = structlog.get_logger(__name__)

_CONCURRENT: Final = 8
"""Previews and acts at a time, of all callers together."""

_ERROR_LENGTH: Final = 2000


@dataclass(frozen=True, slots=True)
class Office:
    """What the desk knows of its agent."""

    allowed: Collection[ActKind]
    """By configuration."""

    host: str
    state_cluster: str
    root: str


class ActDesk:
    """Takes requests of callers.

    Args:
        office: what may be done at all.
        audit: every act is written there before it begins; if that fails, it does not begin.
        clock: time of day.
        scope: acts go on in it when whoever asked has left.
        new_token: makes what nobody can guess.
    """

    def __init__(
        self, office: Office, audit: AuditStore, clock: Clock, scope: TaskScope, new_token: Callable[[], str]
    ) -> None:
        self._office = office
        self._audit = audit
        self._clock = clock
        self._scope = scope
        self._new_token = new_token
        self._previews = Previews()
        self._slots = asyncio.Semaphore(_CONCURRENT)

    async def preview(self, caller: Caller, request: ActRequest) -> tuple[str, Prepared]:
        """Say what an act would do.

        Returns:
            The token by which the caller can have it done, once, and the plan.

        Raises:
            ActRefused: configuration does not allow it, or it cannot be done.
            ClusterError: `AccessDenied` if the caller lacks the rights.
        """
        self._check_allowed(request)
        async with self._slots, caller.clusters(self._names(request)) as clusters:
            deed = await self._prepare(request, self._setting(caller, clusters), None)
        token = self._new_token()
        self._previews.put(token, Preview(caller.session, request, deed.prepared, self._clock.now()))
        return token, deed.prepared

    async def act(self, caller: Caller, request: ActRequest, token: str) -> tuple[Prepared, Mapping[str, str]]:
        """Do what a preview has shown, if everything is still as it was.

        It is done to its end even if whoever asked does not wait for that.

        Returns:
            The plan, and what went wrong in partitions.

        Raises:
            ActRefused: there is no such preview, or something has changed since: nothing was done.
            ClusterError: it failed; `OutcomeUnknown` if nobody knows whether it was done.
        """
        self._check_allowed(request)
        preview = self._previews.take(token, caller.session, request, self._clock.now())
        if preview is None:
            raise ActRefused(
                "Nothing was done: there is no preview for this act that is younger than five minutes and was not used"
                " before; ask for a new one"
            )
        task = self._scope.start(self._act_contained(caller, request, preview.prepared))
        await asyncio.wait([task])
        outcome = task.result()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _act_contained(
        self, caller: Caller, request: ActRequest, agreed: Prepared
    ) -> tuple[Prepared, Mapping[str, str]] | Exception:
        """An error of one act is no end of the scope, in which those of others are."""
        try:
            return await self._act(caller, request, agreed)
        except Exception as error:  # noqa: BLE001 - raised again where the act was asked for
            return error

    async def _act(self, caller: Caller, request: ActRequest, agreed: Prepared) -> tuple[Prepared, Mapping[str, str]]:
        async with self._slots, caller.clusters(self._names(request)) as clusters:
            deed = await self._prepare(request, self._setting(caller, clusters), agreed)
            changed = find_changes(agreed.facts, deed.prepared.facts)
            if changed:
                raise ActRefused(
                    f"Nothing was done: since the preview something has changed ({', '.join(changed)}); ask for a new"
                    " preview"
                )
            record = await self._begin(caller, request, deed)
            try:
                failures = await deed.carry_out()
            except ClusterError as error:
                outcome: AuditOutcome = "unknown" if isinstance(error, OutcomeUnknown) else "failed"
                await self._finish(record, outcome, str(error))
                raise
            except BaseException as error:
                await self._finish(record, "unknown", repr(error))
                raise
            words = "; ".join(f"partition {index}: {failure}" for index, failure in failures.items())
            await self._finish(record, "failed" if failures else "done", words or None)
            return deed.prepared, failures

    async def _begin(self, caller: Caller, request: ActRequest, deed: Deed) -> AuditRecord:
        record = AuditRecord(
            instant=self._clock.now(),
            id=self._new_token(),
            user=caller.user,
            login=caller.login,
            peer=caller.peer,
            agent=self._office.host,
            act=request.kind.value,
            subject=request.subject,
            plan=deed.prepared.plan,
            queue=request.queue,
            consumer=request.consumer,
        )
        try:
            await self._audit.write(record)
        except ClusterError as error:
            raise ActRefused(
                f"Nothing was done: the audit journal cannot be written ({error}); its table is made by queue-agent"
                " init-state"
            ) from error
        _log(record)
        return record

    async def _finish(self, record: AuditRecord, outcome: AuditOutcome, error: str | None) -> None:
        """Write down what became of an act; if that fails, the row says `begun`, and the log line the outcome."""
        words = None if error is None else error[:_ERROR_LENGTH]
        done = replace(record, outcome=outcome, finished=self._clock.now(), error=words)
        _log(done)
        try:
            await self._audit.write(done)
        except ClusterError as failure:
            log.error("outcome of an act is not in the audit journal", id=record.id, error=str(failure))

    def _check_allowed(self, request: ActRequest) -> None:
        if request.kind not in self._office.allowed:
            raise ActRefused(
                f"The act {request.kind.value} is off: console.acts of the agent's configuration allows acts"
            )

    def _names(self, request: ActRequest) -> frozenset[str]:
        return frozenset({self._office.state_cluster}) if request.kind in OF_AGENTS else request.clusters

    def _setting(self, caller: Caller, clusters: Mapping[str, Any]) -> Setting:
        return Setting(caller, clusters, self._office.state_cluster, self._office.root, self._clock.now())

    async def _prepare(self, request: ActRequest, setting: Setting, agreed: Prepared | None) -> Deed:
        match request.kind:
            case ActKind.RESET:
                return await prepare_reset(request, setting, self._clock.now, agreed)
            case ActKind.ACKNOWLEDGE:
                return await prepare_acknowledgement(request, setting, agreed)
            case ActKind.PROTECT:
                return await prepare_protection(request, setting)
            case ActKind.REGISTER | ActKind.UNREGISTER:
                return await prepare_registration(request, setting)
            case ActKind.MOUNT | ActKind.UNMOUNT:
                return await prepare_mounting(request, setting)
            case ActKind.PAUSE_TRIMMING | ActKind.RESUME_TRIMMING:
                return await prepare_pause(request, setting)
            case ActKind.BAN | ActKind.UNBAN:
                return await prepare_ban(request, setting)


def _log(record: AuditRecord) -> None:
    """The journal's second copy."""
    log.info(
        "act",
        id=record.id,
        user=record.user,
        login=record.login,
        peer=record.peer,
        act=record.act,
        subject=record.subject,
        outcome=record.outcome,
        error=record.error,
    )
