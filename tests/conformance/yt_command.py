"""The `yt` command, loaded once: a process forks for each call, which then is a process like any other.

To load it takes longer than what most calls do.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from tempfile import TemporaryFile
from types import TracebackType
from typing import Final, Self

_LONGEST: Final = 1 << 16
"""Of the arguments, in bytes."""


class YtCommand:
    """Runs the command in an environment while it is entered, one call after the other."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, self._other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self._other.fileno())],
            pass_fds=[self._other.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=self._environment,
        )
        self._other.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._socket.close()
        self._process.wait()

    def run(self, arguments: Sequence[str], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
        with TemporaryFile() as typed, TemporaryFile() as out, TemporaryFile() as complaints:
            typed.write(stdin)
            typed.seek(0)
            socket.send_fds(
                self._socket, [json.dumps(arguments).encode()], [one.fileno() for one in (typed, out, complaints)]
            )
            answer = self._socket.recv(_LONGEST)
            assert answer, "the process that forks has ended"
            out.seek(0)
            complaints.seek(0)
            return subprocess.CompletedProcess(arguments, int(answer), out.read(), complaints.read())


def _wait_for_calls(calls: socket.socket) -> None:
    """Fork for each call; gives back in the forked process, whose arguments and streams are those of the call."""
    while True:
        message, streams, _, _ = socket.recv_fds(calls, _LONGEST, 3)
        if not message:
            os._exit(0)
        process_id = os.fork()
        if not process_id:
            calls.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            sys.argv = ["yt", *json.loads(message)]
            return
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(process_id, 0)
        calls.send(str(os.waitstatus_to_exitcode(status)).encode())


if __name__ == "__main__":
    from yt.cli.yt_binary import main

    gc.freeze()  # what is loaded is for no collector to go through, in any of them
    _wait_for_calls(socket.socket(fileno=int(sys.argv[1])))
    sys.exit(main())
