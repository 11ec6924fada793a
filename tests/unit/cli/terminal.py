"""A pseudo-terminal with a process in it: keys go in, and what stands on the screen is waited for."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.waiting import LIMIT_SECONDS

_SEQUENCES: Final = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][0-9A-B])")
_FRAME: Final = "\x1b[H"
"""Each frame begins at the upper left corner."""


class Terminal:
    """The side of a terminal where somebody sits."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self._master = master
        self.process = process
        self.output = ""

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def screen(self) -> str:
        """Text of the latest frame that has been written as a whole: after it there is another."""
        frames = self.output.rsplit(_FRAME, 2)
        return _SEQUENCES.sub("", frames[-2]).replace("\r", "") if len(frames) == 3 else ""

    def wait(self, condition: Callable[[str], bool]) -> str:
        """The screen once a condition holds."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while not condition(self.screen()):
            readable, _, _ = select.select([self._master], [], [], max(0, deadline - time.monotonic()))
            assert readable, f"not on the screen in time: {self.screen()}"
            try:
                data = os.read(self._master, 1 << 16)
            except OSError:  # the process has closed its side
                data = b""
            assert data, f"ended before: {self.output[-3000:]!r}"
            self.output += data.decode(errors="replace")
        return self.screen()

    def wait_for(self, *words: str, without: Sequence[str] = ()) -> str:
        """The screen once it has some words and not others."""
        return self.wait(lambda seen: all(w in seen for w in words) and not any(w in seen for w in without))

    def end(self) -> int:
        """Exit code; what is still written is read, for nobody can end who waits for a reader."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"has not ended: {self.output[-3000:]!r}"
            readable, _, _ = select.select([self._master], [], [], 0.05)
            self._take(readable)
        while select.select([self._master], [], [], 0)[0] and self._take([self._master]):
            pass
        return self.process.returncode

    def hang_up(self) -> None:
        """Close the side where somebody sat."""
        os.close(self._master)
        self._master = -1

    def _take(self, readable: Sequence[int]) -> bool:
        try:
            data = os.read(self._master, 1 << 16) if readable else b""
        except OSError:
            return False
        self.output += data.decode(errors="replace")
        return bool(data)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self._master >= 0:
            os.close(self._master)


@contextmanager
def watching(*arguments: str, columns: int = 150, lines: int = 30) -> Iterator[Terminal]:
    """`queue-agent watch` in a terminal of its own."""
    master, slave = pty.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        # What runs in the background of a shell ignores the signal, and so would what it starts.
        ["env", "--default-signal=INT", sys.executable, "-m", "queue_agent", "watch", "--interval", "0.1", *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**environment, "TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[3])},
        start_new_session=True,
    )
    os.close(slave)
    terminal = Terminal(master, process)
    try:
        yield terminal
    finally:
        terminal.close()
