"""The command `yt-local`: clusters alone, for those who bring their own agent, or need none."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from yt_local.service import (
    DEFAULT_CLUSTERS,
    LOOPBACK,
    ClusterService,
    ServiceError,
    ServiceOptions,
    TokenFile,
    parse_clusters,
    ready_parts,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM; the exit code is 1 if that is not possible, and 2 if the arguments are wrong."""
    options = _parser().parse_args(arguments)
    try:
        http_ports, rpc_ports = parse_clusters(options.cluster or DEFAULT_CLUSTERS)
        service = ServiceOptions(
            http_ports,
            rpc_ports,
            options.data_dir,
            options.host,
            options.require_token,
            options.test_controls,
            options.allowed_host,
            options.allowed_origin,
        )
        asyncio.run(_serve(service, options.agent))
    except ServiceError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - it is a command
        return 1
    return 0


async def _serve(options: ServiceOptions, agents: Sequence[str]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        clusters = ClusterService(options, stack)
        directory = options.data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yt-local-")))
        tokens = []
        if options.require_token:
            directory.mkdir(parents=True, exist_ok=True)
            tokens.append(TokenFile.in_directory(directory, "root"))
        await stack.enter_async_context(clusters.serving(agents, tokens))
        parts = [*ready_parts(clusters), *(f"token {file.path}" for file in tokens)]
        print(f"ready: {', '.join(parts)}", flush=True)  # noqa: T201 - programs wait for this line
        await stop.wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("yt-local", description="Run local clusters in the foreground, until Ctrl-C.")
    parser.add_argument(
        "--cluster",
        action="append",
        metavar="NAME=HTTP_PORT[:RPC_PORT]",
        help="a cluster; may be repeated; port 0 chooses a free one, which is where RPC is unless you say so"
        f" (default: {' and '.join(DEFAULT_CLUSTERS)})",
    )
    parser.add_argument("--data-dir", type=Path, help="keep all data here; without it, it is gone at the end")
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        metavar="HOST:RPC_PORT",
        help="a queue agent that answers for @queue_status and the like; may be repeated",
    )
    parser.add_argument(
        "--host", default=LOOPBACK, help="address to listen at; beyond loopback only with --require-token"
    )
    parser.add_argument(
        "--require-token",
        action="store_true",
        help="refuse requests without a token; root's is in the file that the ready line names",
    )
    parser.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="name by which clients call this machine, besides localhost and addresses; may be repeated",
    )
    parser.add_argument(
        "--allowed-origin",
        action="append",
        default=[],
        metavar="URL",
        help="another server whose pages may use the clusters from a browser; may be repeated",
    )
    parser.add_argument(
        "--test-controls",
        action="store_true",
        help="let anybody set the clock and turn on faults, at /test/ of each cluster",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
