"""execute_batch: many light commands in one request."""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field

from yt_local.calls.call import Method
from yt_local.calls.command import Body, Command, Parameters, volatile
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster, RunnableCommand
from yt_local.session import Session
from yt_wire.error import YtError


class _Request(Parameters):
    command: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    input: Any = None


class _Batch(Parameters):
    requests: list[_Request]
    mutation_id: str | None = None


async def _execute_batch(cluster: Cluster, session: Session, parameters: _Batch, _: Body) -> Any:
    commands = [_light(cluster.command(request.command)) for request in parameters.requests]
    results = []
    for position, (command, request) in enumerate(zip(commands, parameters.requests, strict=True)):
        request_parameters = request.parameters
        if parameters.mutation_id is not None:
            # Each change is known again by itself; answers of reads need not be kept for a repeat of the batch.
            request_parameters = {"mutation_id": f"{parameters.mutation_id}/{position}", **request_parameters}
        try:
            output = await cluster.execute(session, command, request_parameters, Body(value=request.input))
        except YtError as error:
            results.append({"error": error.to_map()})
        else:
            results.append({"output": output})
    return {"results": results}


def _light(command: RunnableCommand) -> RunnableCommand:
    if command.is_heavy or "tabular" in (command.input_type, command.output_type) or command.name == "execute_batch":
        raise YtError(f'Command "{command.name}" cannot be part of a batch')
    return command


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "execute_batch",
        _Batch,
        _execute_batch,
        Manual(
            "Light commands in one request, one after the other.",
            "`{results=[{output=...}; {error=...}; ...]}` in the order of the requests",
            {1: "a command that is unknown, heavy or tabular: then none of them is carried out"},
            ignored=("concurrency",),
            parameters={
                "requests": "maps of `command`, `parameters` and `input`",
                "mutation_id": "a repeat with the same id is answered as before, and not done again",
            },
        ),
        changes=False,
        transactions="ignored",
    ),
)


METHODS: Final[tuple[Method, ...]] = ()
