"""Other agents of the stage, answered over RPC: JSON, compressed, both ways in one message."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final, Protocol

from queue_agent.adapters.process.json_values import to_json
from queue_agent.core.group.questions import Question
from yt_wire import json_text, rpc
from yt_wire.connection import Reply
from yt_wire.error import ErrorCode, YtError
from yt_wire.rpc_server import Services

SERVICE: Final = "QueueAgentStageService"
METHOD: Final = "Ask"

MAX_ANSWER: Final = 8 << 20
"""Bytes of an answer, compressed; the rows of some 50,000 objects."""

MAX_PLAIN_ANSWER: Final = 32 << 20

_LEVEL: Final = 3


class OwnAnswers(Protocol):
    """Answers of what is led here."""

    async def answer(self, question: Question) -> Mapping[str, Any]:
        """YtError for what makes no sense, or is not known here."""
        ...


def peer_service(answers: OwnAnswers) -> Services:
    """The service for other agents."""

    async def ask(request: rpc.Request) -> Reply:
        document = await answers.answer(_read(request.body))
        body = await asyncio.to_thread(encode_answer, document)
        if len(body) > MAX_ANSWER:
            raise YtError(f"The answer would have {len(body)} bytes, and {MAX_ANSWER} are allowed")
        return Reply(body)

    return {SERVICE: {METHOD: ask}}


def encode_question(question: Question) -> bytes:
    """A question as it travels."""
    document = {"name": question.name, "parameters": dict(question.parameters), "body": question.body}
    return json.dumps(document).encode()


def encode_answer(document: Mapping[str, Any]) -> bytes:
    """An answer as it travels."""
    return zlib.compress(json.dumps(to_json(document), separators=(",", ":")).encode(), _LEVEL)


def decode_answer(body: bytes) -> Any:
    """An answer as it came; ValueError for what is none, or would be too large."""
    try:
        decompressor = zlib.decompressobj()
        plain = decompressor.decompress(body, MAX_PLAIN_ANSWER)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if decompressor.unconsumed_tail:
        raise ValueError(f"it has more than {MAX_PLAIN_ANSWER} bytes")
    return json_text.loads(plain)


def _read(body: bytes) -> Question:
    try:
        document = json_text.loads(body)
        name, parameters, told = document["name"], document.get("parameters", {}), document.get("body", "")
        if not isinstance(name, str) or not isinstance(told, str) or not isinstance(parameters, dict):
            raise TypeError("name, parameters or body are of another type")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise YtError(f"This is no question of an agent: {error}", ErrorCode.PROTOCOL) from error
    return Question(name, {str(key): str(value) for key, value in parameters.items()}, told)
