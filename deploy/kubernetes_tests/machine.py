"""This machine as a host of one Kubernetes: whether it can, its namespaces and network, and what is left at the end."""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

from deploy.kubernetes_tests.node import READY

CHECKOUT: Final = Path(__file__).parents[2]

_CGROUPS: Final = Path("/sys/fs/cgroup")
_START_SECONDS: Final = 300.0
_END_SECONDS: Final = 20.0
_MOUNTED: Final = re.compile("check-kubernetes|kubelet|containerd|netns|sandbox")
_NETWORKS: Final = ipaddress.ip_network("172.31.192.0/18")
"""One of its subnets joins this machine and the node."""


def why_not() -> str | None:
    """What keeps this machine from running a Kubernetes, in one line; None if nothing does."""
    if sys.platform != "linux":
        return "a Kubernetes needs Linux"
    if os.geteuid() != 0:
        return "a Kubernetes needs root"
    if not (_CGROUPS / "memory").is_dir():
        return f"a Kubernetes needs cgroups: {_CGROUPS}/memory is missing (only cgroups of version 1 have been tried)"
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/run"],
        check=False,
        capture_output=True,
        text=True,
    )
    if tried.returncode:
        return f"a Kubernetes needs namespaces of its own: {tried.stderr.strip()}"
    return None


def traces() -> dict[str, list[str]]:
    """What a Kubernetes that was not confined would leave on this machine, by its kind."""

    def lines(*command: str) -> list[str]:
        if shutil.which(command[0]) is None:
            return []
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    names = ("containerd", "etcd", "kube", "runc", "catatonit", "queue-agent-node")
    commands = [line.split(maxsplit=1) for line in lines("ps", "-e", "-o", "pid=,comm=")]
    tunables = (
        "vm.overcommit_memory",
        "vm.panic_on_oom",
        "kernel.panic",
        "kernel.panic_on_oops",
        "net.ipv4.ip_forward",
    )
    return {
        "processes": [" ".join(each) for each in commands if each[1].startswith(names)],
        # Others may mount things meanwhile.
        "mounts": sorted(line for line in Path("/proc/mounts").read_text().splitlines() if _MOUNTED.search(line)),
        "rules": [line for line in lines("iptables-save") if not line.startswith(("#", ":"))],
        "interfaces": sorted(line.split()[1] for line in lines("ip", "-oneline", "link")),
        "routes": sorted(lines("ip", "route")),
        "settings": [f"{name}={Path('/proc/sys', name.replace('.', '/')).read_text().strip()}" for name in tunables],
        "cgroups": sorted(str(path) for path in _CGROUPS.glob("*/check-kubernetes-*")),
        "folders": sorted(str(path) for path in Path(tempfile.gettempdir()).glob("check-kubernetes-*")),
        "cni": sorted(str(path) for folder in ("/var/lib/cni", "/run/netns") for path in Path(folder).glob("*")),
    }


class Machine:
    """Runs a node in namespaces of its own; a context manager.

    Args:
        tools: folder of `deploy/install-tools.sh`.
    """

    def __init__(self, tools: Path) -> None:
        self._tools = tools
        self._number = 0
        self._cgroup = f"check-kubernetes-{os.getpid()}"
        self._process: subprocess.Popen[bytes] | None = None
        self.state = Path()
        """Folder of the node: `admin.conf`, `logs/`, `containerd.sock`."""
        self.address = ""
        """Of the node, as seen from here."""

    def __enter__(self) -> Machine:
        self.state = Path(tempfile.mkdtemp(prefix="check-kubernetes-"))
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self) -> None:
        gateway, self.address = _free_addresses()
        for hierarchy in _CGROUPS.iterdir():
            (hierarchy / self._cgroup).mkdir()
        node = [sys.executable, "-m", "deploy.kubernetes_tests.node"]
        facts = [str(self.state), str(self._tools), self.address, gateway, self._cgroup]
        # Without us there is no node: the kernel ends who waits for its first process, and that one with all others.
        own = ["--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"]
        log = self.state / "node.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "unshare", *own, *node, *facts],
                cwd=CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | {"PATH": f"{self._tools}/bin:{os.environ['PATH']}:/usr/sbin:/sbin"},
            )
        self._number = self._find_first(self._process)
        interface = f"kube{self._number}"
        _ip("link", "add", interface, "type", "veth", "peer", "name", "eth0", "netns", str(self._number))
        _ip("address", "add", f"{gateway}/30", "dev", interface)
        _ip("link", "set", interface, "up")
        self._wait_until_ready(self._process, log)

    def _find_first(self, process: subprocess.Popen[bytes]) -> int:
        """Number here of the first process there, once it is in its own network."""
        mine = Path("/proc/self/ns/net").readlink()
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and process.poll() is None:
            for number in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                if Path(f"/proc/{number}/ns/net").readlink() != mine:
                    return int(number)
            time.sleep(0.02)
        raise RuntimeError("the node has not started")

    def _wait_until_ready(self, process: subprocess.Popen[bytes], log: Path) -> None:
        end = time.monotonic() + _START_SECONDS
        while not (self.state / READY).exists():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the node has not become ready: {log.read_text()[-4000:]}")
            time.sleep(0.1)

    def inside(self, *command: str | Path) -> str:
        """Output of a command in the node's namespaces of mounts, network and processes.

        Raises:
            CalledProcessError: it failed.
        """
        enter = ["nsenter", "--target", str(self._number), "--mount", "--net", "--pid"]
        done = subprocess.run([*enter, *command], check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def import_image(self, archive: Path) -> None:
        """Give the node an image, from an archive as Docker makes them."""
        self.ctr("images", "import", str(archive))

    def ctr(self, *command: str) -> str:
        """What containerd's client says."""
        program = shutil.which("ctr", path=f"{self._tools}/bin:{os.environ['PATH']}") or "ctr"
        return self.inside(program, "--address", self.state / "containerd.sock", "--namespace", "k8s.io", *command)

    def stop(self) -> None:
        """End the node, and remove its files."""
        if self._process is not None:
            if self._number:
                with suppress(ProcessLookupError):  # it has failed by itself
                    os.kill(self._number, signal.SIGKILL)
            self._process.kill()
            self._process.wait()
        end = time.monotonic() + _END_SECONDS
        while left := _remove_cgroups(self._cgroup):
            if time.monotonic() > end:
                raise TimeoutError(f"cgroups are still in use: {left}")
            time.sleep(0.1)
        shutil.rmtree(self.state)
        interface = Path(f"/sys/class/net/kube{self._number}")
        while interface.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"the node's network has not gone: {interface}")
            time.sleep(0.1)


def _free_addresses() -> tuple[str, str]:
    """Two addresses of a network that this machine does not know."""
    known = subprocess.run(["ip", "route", "show", "table", "all"], check=True, capture_output=True, text=True).stdout
    for network in _NETWORKS.subnets(new_prefix=30):
        here, there = network.hosts()
        if f"{here} " not in known:
            return str(here), str(there)
    raise RuntimeError(f"no subnet of {_NETWORKS} is free")


def _ip(*command: str) -> None:
    subprocess.run(["ip", *command], check=True, capture_output=True)


def _remove_cgroups(name: str) -> list[Path]:
    """Remove what is empty; the rest is returned."""
    left = []
    for top in _CGROUPS.glob(f"*/{name}"):
        for folder in [*sorted((path for path in top.rglob("*") if path.is_dir()), reverse=True), top]:
            try:
                folder.rmdir()
            except OSError:
                left.append(folder)
    return left
