"""Light commands of many askers, in few requests: `execute_batch`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Literal

from queue_agent.adapters.cluster.batch_answer import digest_of, join_results, split_results
from queue_agent.adapters.cluster.batcher import Batcher
from queue_agent.adapters.cluster.second_chance import SecondChances
from queue_agent.adapters.cluster.yt_errors import to_cluster_error
from queue_agent.adapters.cluster.yt_http import YtHttp
from queue_agent.errors import ClusterError, ClusterUnavailable
from yt_wire import yson
from yt_wire.error import YtError

_CONCURRENCY: Final = 50

ReadingCommand = Literal["check_permission", "get", "get_tablet_infos", "list"]
"""Commands that may be asked twice, alone or in another batch, as `SecondChances` does."""


@dataclass(frozen=True, slots=True)
class LightCommand:
    """A reading command fit for a batch; whoever asks the same again and again keeps it."""

    command: ReadingCommand
    path: str
    encoded: bytes
    """As it travels inside of a batch."""

    @classmethod
    def of(cls, command: ReadingCommand, path: str, **parameters: Any) -> LightCommand:
        encoded = yson.dumps({"command": command, "parameters": {"path": path, **parameters}})
        return cls(command, path, encoded)

    @classmethod
    def get(cls, path: str) -> LightCommand:
        """Of which the output is a map with the node's `value`."""
        return cls.of("get", path)


Outcome = Any
"""Output of a command, or its ClusterError."""


def output_of(outcome: Outcome) -> Any:
    """Output of a command; raises its ClusterError."""
    if isinstance(outcome, ClusterError):
        raise outcome
    return outcome


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
        return output_of(outcome)

    async def run_all(self, commands: Sequence[LightCommand]) -> list[Outcome]:
        """Outcomes of a few commands that travel in one request; raises the error of the request alone."""
        return await self._batcher.ask(None, commands) if commands else []

    async def run_changed(
        self, questions: Sequence[Sequence[LightCommand]], digests: Sequence[bytes | None]
    ) -> list[tuple[bytes | None, list[Outcome] | None]]:
        """Ask by one request in which nothing else travels, and look only into answers that are not as before.

        Args:
            questions: a few commands each.
            digests: of the last answer to each; None: not known.

        Returns:
            For each question the digest of its answer, None if there is none to be had, and the outcomes of its
            commands; None instead of them if the digest is still the same. Barrier timestamps of tablets count for
            nothing, and may be missing.
        """
        commands = [command for question in questions for command in question]
        body = await self._send(commands)
        pieces = split_results(body, len(commands))
        if pieces is None:
            outcomes = iter(self._outcomes(commands, self._http.parse("execute_batch", body)["results"]))
            return [(None, [next(outcomes) for _ in question]) for question in questions]
        answers: list[tuple[bytes, list[Outcome] | None]] = []
        changed: list[bytes] = []
        start = 0
        for question, digest in zip(questions, digests, strict=True):
            own = pieces[start : start + len(question)]
            start += len(question)
            new_digest = digest_of(own)
            if new_digest == digest:
                answers.append((new_digest, None))
            else:
                answers.append((new_digest, []))
                changed += own
        if changed:
            results = iter(self._http.parse("execute_batch", join_results(changed)))
            for question, (_, outputs) in zip(questions, answers, strict=True):
                if outputs is not None:
                    outputs += [next(results)["output"] for _ in question]
        return [*answers]

    async def _execute(self, key: None, questions: Sequence[Sequence[LightCommand]]) -> list[list[Outcome]]:
        commands = [command for question in questions for command in question]
        answer = self._http.parse("execute_batch", await self._send(commands))
        outcomes = iter(self._outcomes(commands, answer["results"]))
        return [[next(outcomes) for _ in question] for question in questions]

    async def _send(self, commands: Sequence[LightCommand]) -> bytes:
        requests = b"[" + b";".join([command.encoded for command in commands]) + b"]"
        try:
            return await self._http.call_unparsed(
                "execute_batch",
                {"concurrency": _CONCURRENCY},
                encoded={"requests": requests},
                subject=_describe(commands),
            )
        except ClusterError as error:
            # The request failed as a whole, for a token that has run out, say: about no object has anything been said.
            raise ClusterUnavailable(error.message, error.code, error.details) from error

    def _outcomes(self, commands: Sequence[LightCommand], results: Sequence[Any]) -> list[Outcome]:
        if len(results) != len(commands):
            words = f"{_describe(commands)} on cluster {self._cluster} gave {len(results)} results"
            raise ClusterUnavailable(words)
        return [
            self._error(command, result["error"]) if "error" in result else result["output"]
            for command, result in zip(commands, results, strict=True)
        ]

    def _error(self, command: LightCommand, error: Any) -> ClusterError:
        return to_cluster_error(YtError.from_map(error), f"{command.command} {command.path} on cluster {self._cluster}")


def _describe(commands: Sequence[LightCommand]) -> str:
    """For messages."""
    return f"{commands[0].command} {commands[0].path}" if len(commands) == 1 else f"{len(commands)} requests"
