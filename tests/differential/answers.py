"""What a client got, in a form in which two clusters can agree: without ids, times and what tells of the way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from yt.wrapper import YtClient, YtError
from yt.ypath.common import YPathError

from tests.differential.commands import Call

_GUID: Final = re.compile(r"\b[0-9a-f]{1,8}(?:-[0-9a-f]{1,8}){3}\b")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?")
_COUNTS: Final = frozenset({"revision"})
"""Numbers of changes of a whole cluster: a transaction that the driver begins and gives up is one."""

_LEAST_TIMESTAMP: Final = 1 << 58
_WRAPPERS: Final = (
    "Received HTTP response with error",
    "Received driver response with error",
    "Received response with error",
)
"""Of a client, which tell of the way an error came."""

_NOTHING: Final = b"{}"
"""How API v4 says over HTTP that a command has no result; the driver's bindings give None."""


def perform(client: YtClient, call: Call, transactions: list[str]) -> Any:
    """What a call gives, as plain values; `{"error": ...}` if it fails.

    Args:
        client: of either kind.
        call: what to do.
        transactions: ids of those begun so far; a new one is added.
    """
    try:
        return _plain(_result(client, call, transactions))
    except YtError as error:
        return {"error": _error(error.simplify())}
    except (TypeError, ValueError, KeyError, AttributeError, RuntimeError, YPathError) as error:
        # The client itself refuses; both do so before anything is sent.
        return {"refused": type(error).__name__}


def _result(client: YtClient, call: Call, transactions: list[str]) -> Any:
    method = getattr(client, call.method)
    if call.method == "start_transaction":
        transactions.append(method(*call.arguments, **call.options))
        return None
    if call.method in ("commit_transaction", "abort_transaction"):
        assert call.transaction is not None
        method(transactions[call.transaction])
        return None  # over HTTP it tells the timestamps of the commit
    if call.tablet:
        with client.Transaction(type="tablet"):
            return _all(method(*call.arguments, **call.options))
    if call.transaction is not None:
        with client.Transaction(transaction_id=transactions[call.transaction], ping=False):
            return _all(method(*call.arguments, **call.options))
    return _all(method(*call.arguments, **call.options))


def _all(result: Any) -> Any:
    return list(result) if hasattr(result, "__next__") or hasattr(result, "_iter") else result


def _plain(value: Any) -> Any:
    """A value without ids and times, its types told, and its attributes beside it."""
    attributes = getattr(value, "attributes", None)
    plain = _without_attributes(value)
    if attributes:
        return {"$": plain, "@": {str(name): _plain(one) for name, one in sorted(attributes.items())}}
    return plain


def _without_attributes(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            str(name): "number" if name in _COUNTS else _plain(one)
            for name, one in sorted(value.items(), key=lambda item: str(item[0]))
        }
    if isinstance(value, str):
        return blurred(str(value))
    if value == _NOTHING:
        return None
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, bool) or type(value).__name__ == "YsonBoolean":
        return bool(value)
    if isinstance(value, int):
        return "timestamp" if value >= _LEAST_TIMESTAMP else [type(value).__name__.removeprefix("Yson"), int(value)]
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Iterable):
        return [_plain(one) for one in value]
    return None if value is None or type(value).__name__ == "YsonEntity" else blurred(repr(value))


def _error(error: Mapping[str, Any]) -> Any:
    """Code and message, and those of what it is made of."""
    inner = [_error(one) for one in error.get("inner_errors", ())]
    if error["message"] in _WRAPPERS and len(inner) == 1:
        return inner[0]
    if len(inner) == 1 and inner[0][:2] == [int(error["code"]), blurred(str(error["message"]))]:
        return inner[0]  # the driver commits through a proxy that says the same
    told = [int(error["code"]), blurred(str(error["message"]))]
    return [*told, inner] if inner else told


def blurred(text: str) -> str:
    return _TIME.sub("TIME", _GUID.sub("ID", text))
