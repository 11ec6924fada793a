"""`queue-agent local` as a process of its own, and ways to talk to it as strangers do."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from yt.wrapper import YtClient, YtError, http_helpers

from tests.ports import reserved_port
from tests.waiting import LIMIT_SECONDS

SOURCES: Final = Path(__file__).parents[2]
CLUSTERS: Final = ("pythia", "hume")


_MORE_AGENTS: Final = 2
"""At most, after the first."""

_POLL_SECONDS: Final = 0.2

_READY: Final = re.compile(r"ready: (.+)\n")
_CLUSTER: Final = re.compile(r"(\S+) (http://127\.0\.0\.1:\d+) \(rpc (127\.0\.0\.1:\d+)\)")
_TOKEN: Final = re.compile(r"token (\S+)")
_WEBHDFS: Final = re.compile(r"webhdfs (127\.0\.0\.1:\d+)")
_WEBHDFS_SECRET: Final = re.compile(r"webhdfs secret (\S+)")
_AGENT: Final = re.compile(r"agent (http://127\.0\.0\.1:\d+) \(rpc (127\.0\.0\.1:\d+)\)")
_CONSOLE: Final = re.compile(r"console (http://127\.0\.0\.1:\d+/)")


class Playground:
    """A started `queue-agent local`; `wait_ready` says where everything is.

    Args:
        directory: of this playground alone; one that is started after its end may use it again.
        options: of the command, after ports and clusters.
        clusters: their names; they get free ports.
    """

    def __init__(self, directory: Path, *options: str, clusters: tuple[str, ...] = CLUSTERS) -> None:
        self.directory = directory
        self._temporary = Path(tempfile.mkdtemp(prefix="tmp-", dir=directory))
        self._log = directory / "stderr"
        self._home = directory / "home"
        self._home.mkdir(exist_ok=True)
        self.ready_line = ""
        self.clusters: dict[str, str] = {}
        self.agent_url = ""
        self.rpc_address = ""
        self.console_url = ""
        self.token_file: Path | None = None
        self.webhdfs = ""
        self.webhdfs_secret_file: Path | None = None
        rpc_port, http_port = (reserved_port(following=_MORE_AGENTS) for _ in range(2))
        ports = [f"--rpc-port={rpc_port}", f"--http-port={http_port}", "--webhdfs-port=0"]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                command(*ports, *(f"--cluster={name}=0" for name in clusters), *options),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=directory,
                env=environment(TMPDIR=str(self._temporary)),
                start_new_session=True,  # a group of its own, as a shell with job control gives to a command
            )

    def wait_ready(self) -> None:
        """Read the ready line, and the addresses from it."""
        assert self.process.stdout is not None
        readable, _, _ = select.select([self.process.stdout], [], [], LIMIT_SECONDS)
        line = self.process.stdout.readline().decode() if readable else "nothing"
        match = _READY.fullmatch(line)
        assert match, f"expected the ready line, got {line!r}; standard error: {self._log.read_text()}"
        self.ready_line = match[1]
        for part in match[1].split(", "):
            if agent := _AGENT.fullmatch(part):
                self.agent_url, self.rpc_address = agent[1], agent[2]
            elif console := _CONSOLE.fullmatch(part):
                self.console_url = console[1]
            elif token := _TOKEN.fullmatch(part):
                self.token_file = Path(token[1])
            elif webhdfs := _WEBHDFS.fullmatch(part):
                self.webhdfs = webhdfs[1]
            elif secret := _WEBHDFS_SECRET.fullmatch(part):
                self.webhdfs_secret_file = Path(secret[1])
            else:
                cluster = _CLUSTER.fullmatch(part)
                assert cluster, part
                self.clusters[cluster[1]] = cluster[2]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal; the playground must end with code 0, without an error, and leave nothing."""
        self.process.send_signal(number)
        self.check_stopped()
        assert self.errors() == "", f"standard error: {self.errors()}"

    def interrupt(self) -> None:
        """Do what Ctrl-C in a terminal does: SIGINT to the whole process group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def check_stopped(self) -> None:
        """Wait for the end; the code must be 0, and nothing may be left."""
        assert self.process.wait(LIMIT_SECONDS) == 0
        assert self.output() == ""
        self.check_nothing_left()
        assert list(self._temporary.iterdir()) == []

    def check_nothing_left(self) -> None:
        """No process runs; so no port is held. Others may have taken them already."""
        assert self.processes() == []

    def kill(self) -> None:
        """End everything that still runs, whatever way."""
        self.process.kill()
        self.process.wait()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def output(self) -> str:
        """The rest of standard output; to be asked after the end."""
        assert self.process.stdout is not None
        return self.process.stdout.read().decode()

    def errors(self) -> str:
        """Standard error up to now, without warnings: those may be about a machine that is busy."""
        return "".join(line for line in self._log.read_text().splitlines(True) if "[warning  ]" not in line)

    def processes(self) -> list[int]:
        """Those of this playground that run, recognised by their environment."""
        marker = f"TMPDIR={self._temporary}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    variables = (entry / "environ").read_bytes().split(b"\0")
                except OSError:  # it has ended just now, or is somebody else's
                    continue
                if marker in variables:
                    found.append(int(entry.name))
        return found

    def agent_process(self) -> int:
        """Id of the process of the agent; AssertionError if none runs."""
        agents = [pid for pid in self.processes() if pid != self.process.pid]
        assert len(agents) == 1
        return agents[0]

    def token(self) -> str:
        """Root's, of a playground that requires tokens."""
        assert self.token_file is not None
        return self.token_file.read_text().strip()

    def webhdfs_secret(self) -> str:
        """With which paths of WebHDFS begin."""
        assert self.webhdfs_secret_file is not None
        return self.webhdfs_secret_file.read_text().strip()

    @property
    def shell_environment(self) -> dict[str, str]:
        """Of bob's shell: `yt` is the unmodified client, and clusters go by their names."""
        aliases = "".join(f'{name}="{url}";' for name, url in self.clusters.items())
        return {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(self._home),
            "USER": "bob",
            "YT_PROXY_URL_ALIASING_CONFIG": f"{{{aliases}}}",
        }

    def shell(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run what bob types."""
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
            cwd=self._home,
            env=self.shell_environment,
        )

    def ask_agent(self, path: str) -> Any:
        """An answer of the agent's HTTP interface."""
        with urlopen(self.agent_url + path, timeout=LIMIT_SECONDS) as response:
            return json.load(response)


@contextmanager
def running(directory: Path, *options: str, clusters: tuple[str, ...] = CLUSTERS) -> Iterator[Playground]:
    """A playground that is ready; whatever was done with it, it must end well."""
    with started(directory, *options, clusters=clusters) as playground:
        playground.wait_ready()
        yield playground
        playground.stop()


@contextmanager
def started(directory: Path, *options: str, clusters: tuple[str, ...] = CLUSTERS) -> Iterator[Playground]:
    """A playground that may not be ready yet; it is killed at the end if it still runs."""
    playground = Playground(directory, *options, clusters=clusters)
    try:
        yield playground
    finally:
        playground.kill()


@contextmanager
def connected(url: str, token: str | None = None) -> Iterator[YtClient]:
    """The unmodified Python client, which does not try again."""
    never = {"enable": False}
    config = {
        "proxy": {"retries": never},
        "dynamic_table_retries": never,
        "write_retries": never,
        "read_retries": never,
        "ping_failed_mode": "pass",  # else it interrupts the main thread of whoever uses it
    }
    client = YtClient(proxy=url, token=token, config=config)
    try:
        yield client
    finally:
        http_helpers._get_session(client).close()


def command(*arguments: str) -> list[str]:
    """The command line of `queue-agent local`."""
    return [sys.executable, "-m", "queue_agent", "local", *arguments]


def environment(**variables: str) -> dict[str, str]:
    """For processes that run the command, whether the package is installed or not."""
    return {**os.environ, "PYTHONPATH": str(SOURCES), **variables}


def eventually(check: Callable[[], Any], seconds: float = 60, pause: float = _POLL_SECONDS) -> Any:
    """Do a check until it does not fail any more; its last failure if it has failed for so long.

    Args:
        check: fails by AssertionError.
        seconds: for how long.
        pause: seconds between two checks.

    Returns:
        What the check returned.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(pause)


def get_agent_attribute(client: YtClient, path: str) -> Any:
    """What the agent says; while it does not know the object yet, an AssertionError."""
    try:
        return client.get(path)
    except YtError as error:
        raise AssertionError(str(error)) from error
