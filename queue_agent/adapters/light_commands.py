"""Light commands of many askers, in few requests: `execute_batch`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

from queue_agent.adapters.batcher import Batcher
from queue_agent.adapters.second_chance import SecondChances
from queue_agent.adapters.yt_errors import to_cluster_error
from queue_agent.adapters.yt_http import YtHttp
from queue_agent.errors import ClusterError, ClusterUnavailable
from queue_agent.wire import yson
from queue_agent.wire.error import YtError

_CONCURRENCY: Final = 50


@dataclass(frozen=True, slots=True)
class LightCommand:
    """A reading command fit for a batch; whoever asks the same again and again keeps it."""

    command: str
    path: str
    encoded: bytes
    """As it travels inside of a batch."""

    @classmethod
    def of(cls, command: str, path: str, **parameters: Any) -> LightCommand:
        encoded = yson.dumps({"command": command, "parameters": {"path": path, **parameters}})
        return cls(command, path, encoded)


Outcome = Any
"""Output of a command, or its ClusterError."""


class LightCommands:
    """Sends light commands to one cluster; an async context manager.

    Args:
        cluster: its name, for messages.
        http: the way to it.
    """

    def __init__(self, cluster: str, http: YtHttp) -> None:
        self._cluster = cluster
        self._http = http
        self._batcher: Batcher[None, Sequence[LightCommand], list[Outcome]] = Batcher(
            self._execute, SecondChances(lambda commands: (commands[0].command, commands[0].path))
        )

    async def __aenter__(self) -> LightCommands:
        await self._batcher.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._batcher.__aexit__(kind, error, traceback)

    async def run(self, command: LightCommand) -> Any:
        """Output of a command; raises its ClusterError, or that of the request it travelled in."""
        [outcome] = await self._batcher.ask(None, [command])
        if isinstance(outcome, ClusterError):
            raise outcome
        return outcome

    async def run_all(self, commands: Sequence[LightCommand]) -> list[Outcome]:
        """Outcomes of a few commands that travel in one request; raises the error of the request alone."""
        return await self._batcher.ask(None, commands) if commands else []

    async def _execute(self, key: None, questions: Sequence[Sequence[LightCommand]]) -> list[list[Outcome]]:
        commands = [command for question in questions for command in question]
        requests = b"[" + b";".join([command.encoded for command in commands]) + b"]"
        try:
            answer = await self._http.call(
                "execute_batch",
                {"concurrency": _CONCURRENCY},
                encoded={"requests": requests},
                subject=f"of {len(commands)}",
            )
        except ClusterError as error:
            # The request failed as a whole, for a token that has run out, say: about no object has anything been said.
            raise ClusterUnavailable(error.message, error.code, error.details) from error
        results = answer["results"]
        if len(results) != len(commands):
            raise ClusterUnavailable(
                f"execute_batch on cluster {self._cluster} gave {len(results)} of {len(commands)} results"
            )
        outcomes = (
            self._error(command, result["error"]) if "error" in result else result["output"]
            for command, result in zip(commands, results, strict=True)
        )
        return [[next(outcomes) for _ in question] for question in questions]

    def _error(self, command: LightCommand, error: Any) -> ClusterError:
        return to_cluster_error(YtError.from_map(error), f"{command.command} {command.path} on cluster {self._cluster}")
