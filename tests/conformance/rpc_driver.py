"""Ytsaurus-client with the driver of YTsaurus, which speaks RPC, in a process of its own.

The driver has threads, writes what it likes to standard error, and ends its process when it finds a mistake of its own.
"""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Final, Self

from yt.wrapper import YtClient
from yt.wrapper import YtError as YtClientError

from yt_local.testing import CLIENT_CONFIG
from yt_wire import yson

RPC_CONFIG: Final = {"backend": "rpc", "enable_passing_request_id_to_driver": False}
"""Without the second setting this pair of client and driver works nowhere."""

_NO_RETRIES: Final = {"read_retries": {"enable": False}, "write_retries": {"enable": False}}
_SECONDS: Final = 30


class DriverProcess:
    """Runs functions on a client over there.

    Args:
        proxy: address of the HTTP proxy, or of the RPC proxy if `by_http` is off.
        by_http: whether the client asks the HTTP proxy where the RPC proxy is.
        config: of the client.
    """

    def __init__(self, proxy: str, *, by_http: bool = True, **config: Any) -> None:
        driver_config = {} if by_http else {"driver_config": {"connection_type": "rpc", "proxy_addresses": [proxy]}}
        context = multiprocessing.get_context("spawn")
        self._pipe, pipe = context.Pipe()
        arguments = (pipe, proxy if by_http else None, {**driver_config, **config})
        self._process = context.Process(target=_serve, args=arguments, daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.join(_SECONDS)
        self._process.kill()

    def run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """What `work(client, *arguments)` returns over there; it is a function of a module.

        Raises:
            YtClientError: as it was raised there.
        """
        self._pipe.send_bytes(pickle.dumps((work, arguments)))
        assert self._pipe.poll(_SECONDS), "no answer"
        answer = yson.loads(self._pipe.recv_bytes())
        if "error" in answer:
            error = answer["error"]
            raise YtClientError(error["message"], error["code"], error["inner_errors"], error["attributes"])
        return answer["value"]

    def do(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the client by its name; what it yields comes as a list."""
        return self.run(_method, name, arguments, options)


def _method(client: YtClient, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = getattr(client, name)(*arguments, **options)
    return list(result) if hasattr(result, "__next__") or hasattr(result, "_iter") else result


def _serve(pipe: Connection, proxy: str | None, config: dict[str, Any]) -> None:
    client = YtClient(proxy, config={**CLIENT_CONFIG, **_NO_RETRIES, **RPC_CONFIG, **config})
    while True:
        try:
            work, arguments = pickle.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            answer: Any = {"value": work(client, *arguments)}
        except YtClientError as error:
            answer = {"error": error.simplify()}
        pipe.send_bytes(yson.dumps(answer))
