"""execute_batch: many commands in one request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from pydantic import Field

from yt_local.calls.call import Method
from yt_local.calls.command import Body, Command, Parameters, volatile
from yt_local.calls.manual import Manual
from yt_local.cluster import Cluster, RunnableCommand
from yt_local.formats.format import Format
from yt_local.formats.formats import YSON_TEXT, parse_format
from yt_local.session import Session
from yt_wire import yson
from yt_wire.error import YtError


class _Request(Parameters):
    command: str
    parameters: dict[str, Any] = Field(default_factory=dict)
    input: Any = None


class _Batch(Parameters):
    requests: list[_Request]
    mutation_id: str | None = None


async def _execute_batch(cluster: Cluster, session: Session, parameters: _Batch, _: Body) -> Any:
    commands = [cluster.command(request.command) for request in parameters.requests]
    for command, request in zip(commands, parameters.requests, strict=True):
        _check(command, request)
    results = []
    for position, (command, request) in enumerate(zip(commands, parameters.requests, strict=True)):
        request_parameters = request.parameters
        if parameters.mutation_id is not None:
            # Each change is known again by itself; answers of reads need not be kept for a repeat of the batch.
            request_parameters = {"mutation_id": f"{parameters.mutation_id}/{position}", **request_parameters}
        try:
            output = await cluster.execute(session, command, request_parameters, _input(command, request))
        except YtError as error:
            results.append({"error": error.to_map()})
        else:
            results.append({"output": output})
    return {"results": results}


def _check(command: RunnableCommand, request: _Request) -> None:
    """YtError unless a command can be part of a batch, with such an input: foreign-clients.md, section 2."""
    for direction, kind, possible in (
        ("input", command.input_type, ("null", "structured", "tabular")),
        ("output", command.output_type, ("null", "structured")),
    ):
        if kind not in possible or command.name == "execute_batch":
            message = f'Command "{command.name}" cannot be part of a batch since it has inappropriate {direction} type'
            raise YtError(f'{message} "{kind}"')
    if command.input_type != "null" and "input" not in request.model_fields_set:
        raise YtError(f'Command "{command.name}" requires input')


def _input(command: RunnableCommand, request: _Request) -> Body:
    if command.input_type != "tabular":
        return Body(value=request.input)
    row_format: Format = YSON_TEXT
    format_name = request.parameters.get("input_format")
    if format_name is None:
        if not isinstance(request.input, dict):
            raise YtError(
                f'Input of command "{command.name}" in a batch is a row, a map; got {yson.shown(request.input)}'
            )
        data = yson.dumps([request.input], "binary")[1:-1]
    else:
        if not yson.is_string(request.input):
            raise YtError(f'Input of command "{command.name}" in a batch must be a string of rows in its format')
        data, row_format = yson.bytes_of(request.input), parse_format(format_name)
    if command.takes_pieces:
        return Body(pieces=_one_piece(data), row_format=row_format)
    return Body(data=data, row_format=row_format)


async def _one_piece(data: bytes) -> AsyncIterator[bytes]:
    yield data


COMMANDS: Final[tuple[Command, ...]] = (
    volatile(
        "execute_batch",
        _Batch,
        _execute_batch,
        Manual(
            "Commands in one request, one after the other.",
            "`{results=[{output=...}; {error=...}; ...]}` in the order of the requests",
            {
                1: "a command that is unknown, lacks its input, takes bytes, or answers with rows or bytes: then none "
                "is carried out"
            },
            ignored=("concurrency",),
            parameters={
                "requests": "maps of `command`, `parameters` and `input`; rows are a string in the `input_format` of "
                "the parameters, or without one a single row, a map",
                "mutation_id": "a repeat with the same id is answered as before, and not done again",
            },
        ),
        changes=False,
        transactions="ignored",
    ),
)


METHODS: Final[tuple[Method, ...]] = ()
