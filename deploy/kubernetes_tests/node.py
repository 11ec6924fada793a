"""A node of Kubernetes with all of its control plane: the first process of its own namespaces, started by `machine`.

What it does ends with it: processes by the namespace of processes, mounts and rules of iptables by theirs. The kernel's
settings that are nobody's namespace's are hidden from the kubelet, which would change them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from deploy.kubernetes_tests.certificates import make_certificates

API_PORT: Final = 6443
METRICS_PORT: Final = 4443
SERVICES: Final = "10.96.0.0/16"
PODS: Final = "10.244.0.0/24"
DNS_ADDRESS: Final = "169.254.20.10"
NAME: Final = "node"
SANDBOX_IMAGE: Final = "localhost/pause:1"
READY: Final = "ready"
"""File of the state folder that is there when pods can be started."""

_START_SECONDS: Final = 180.0
_ETCD: Final = "http://127.0.0.1:2379"
_TUNABLES: Final = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1000000,
    "kernel/keys/root_maxbytes": 25000000,
}
"""As the kubelet wants them."""


def run(*command: str | Path) -> str:
    """Output of a command that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Node:
    """The parts of one node.

    Args:
        state: folder for all files; not in /run or /var.
        tools: folder of `deploy/install-tools.sh`.
        address: of this node and of the API server.
        gateway: this machine as seen from the node.
        cgroup: name of the cgroup for pods.
    """

    def __init__(self, state: Path, tools: Path, address: str, gateway: str, cgroup: str) -> None:
        self._state = state
        self._tools = tools
        self._address = address
        self._gateway = gateway
        self._cgroup = cgroup
        self._admin = str(state / "admin.conf")

    def start(self) -> None:
        """Start everything; returns when the node is ready."""
        self._isolate_files()
        self._connect()
        make_certificates(self._state, self._address, NAME, f"https://{self._address}:{API_PORT}")
        self._start("etcd", "--data-dir", self._folder("etcd"), *self._etcd_options())
        self._start("containerd", "--config", self._write_containerd_settings())
        self._start("kube-apiserver", *self._api_options())
        self._await("the API server", "get", "--raw", "/readyz")
        self._start("kube-controller-manager", *self._manager_options())
        self._start("kube-scheduler", "--kubeconfig", self._admin, "--leader-elect=false", "--bind-address=127.0.0.1")
        self._start_dns()
        self._start("kubelet", *self._kubelet_options())
        self._start("kube-proxy", *self._proxy_options())
        self._start("metrics-server", *self._metrics_options())
        self._await("the node", "wait", f"node/{NAME}", "--for=condition=Ready", "--timeout=1s")
        (self._state / READY).touch()

    def _isolate_files(self) -> None:
        run("mount", "--make-rprivate", "/")
        run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
        layers = f"lowerdir=/var,upperdir={self._folder('var')},workdir={self._folder('var-work')}"
        run("mount", "-t", "overlay", "-o", layers, "overlay", "/var")
        for name, value in _TUNABLES.items():
            shown = self._state / "tunables" / name
            shown.parent.mkdir(parents=True, exist_ok=True)
            shown.write_text(f"{value}\n")
            run("mount", "--bind", shown, f"/proc/sys/{name}")
        # Volumes are mounted here and seen in pods.
        run("mount", "--make-rshared", "/")

    def _connect(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while subprocess.run(["ip", "link", "show", "eth0"], check=False, capture_output=True).returncode:
            if time.monotonic() > end:
                raise TimeoutError("this machine did not connect the node: there is no eth0")
            time.sleep(0.05)
        run("ip", "link", "set", "lo", "up")
        run("ip", "address", "add", f"{DNS_ADDRESS}/32", "dev", "lo")
        run("ip", "address", "add", f"{self._address}/30", "dev", "eth0")
        run("ip", "link", "set", "eth0", "up")
        run("ip", "route", "add", "default", "via", self._gateway)
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    def _folder(self, name: str) -> str:
        folder = self._state / name
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def _start(self, program: str, *options: str) -> None:
        log = Path(self._folder("logs")) / f"{Path(program).name}.log"
        with log.open("ab") as output:
            subprocess.Popen([program, *options], stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def _await(self, what: str, *question: str) -> None:
        end = time.monotonic() + _START_SECONDS
        command = ["kubectl", "--kubeconfig", self._admin, *question]
        while (asked := subprocess.run(command, check=False, capture_output=True, text=True)).returncode:
            if time.monotonic() > end:
                raise TimeoutError(f"{what} is not ready; logs are in {self._state / 'logs'}: {asked.stderr}")
            time.sleep(0.3)

    @staticmethod
    def _etcd_options() -> list[str]:
        # What is stored lives as long as the node does: nothing has to reach a disk.
        peers = "http://127.0.0.1:2380"
        return [
            f"--listen-client-urls={_ETCD}",
            f"--advertise-client-urls={_ETCD}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--unsafe-no-fsync",
        ]

    def _api_options(self) -> list[str]:
        keys = self._state / "keys"
        return [
            f"--etcd-servers={_ETCD}",
            f"--bind-address={self._address}",
            f"--secure-port={API_PORT}",
            f"--advertise-address={self._address}",
            f"--service-cluster-ip-range={SERVICES}",
            f"--client-ca-file={keys}/ca.crt",
            f"--tls-cert-file={keys}/server.crt",
            f"--tls-private-key-file={keys}/server.key",
            f"--kubelet-client-certificate={keys}/admin.crt",
            f"--kubelet-client-key={keys}/admin.key",
            f"--kubelet-certificate-authority={keys}/ca.crt",
            "--kubelet-preferred-address-types=InternalIP",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--proxy-client-cert-file={keys}/front.crt",
            f"--proxy-client-key-file={keys}/front.key",
            f"--requestheader-client-ca-file={keys}/ca.crt",
            "--requestheader-allowed-names=front-proxy",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--service-account-issuer=https://{self._address}:{API_PORT}",
            f"--service-account-key-file={keys}/accounts.key",
            f"--service-account-signing-key-file={keys}/accounts.key",
            "--enable-aggregator-routing=true",
        ]

    def _manager_options(self) -> list[str]:
        keys = self._state / "keys"
        return [
            f"--kubeconfig={self._admin}",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={keys}/accounts.key",
            f"--root-ca-file={keys}/ca.crt",
            f"--cluster-cidr={PODS}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            "--controllers=*,-nodeipam,-cloud-node-lifecycle-controller",
            # Load is judged in seconds here, where people wait for it.
            "--horizontal-pod-autoscaler-sync-period=5s",
            "--horizontal-pod-autoscaler-initial-readiness-delay=5s",
            "--horizontal-pod-autoscaler-cpu-initialization-period=15s",
            "--horizontal-pod-autoscaler-downscale-stabilization=15s",
        ]

    def _kubelet_options(self) -> list[str]:
        keys = self._state / "keys"
        settings = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self._address,
            "healthzPort": 0,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": f"{keys}/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._cgroup}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "containerRuntimeEndpoint": f"unix://{self._state}/containerd.sock",
            "clusterDomain": "cluster.local",
            "clusterDNS": [DNS_ADDRESS],
            "oomScoreAdj": 0,
            "tlsCertFile": f"{keys}/kubelet.crt",
            "tlsPrivateKeyFile": f"{keys}/kubelet.key",
            "readOnlyPort": 0,
            "syncFrequency": "5s",
            # How much pods have written is looked at soon: by default once a minute.
            "volumeStatsAggPeriod": "5s",
            "podLogsDir": self._folder("pods"),
            # Images are put here by hand, and must not go.
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1Mi", "imagefs.available": "1Mi"},
        }
        path = self._state / "kubelet.json"
        path.write_text(json.dumps(settings))
        return [
            f"--config={path}",
            f"--kubeconfig={self._state}/kubelet.conf",
            f"--hostname-override={NAME}",
            f"--node-ip={self._address}",
            f"--root-dir={self._folder('kubelet')}",
        ]

    def _proxy_options(self) -> list[str]:
        return [
            f"--kubeconfig={self._admin}",
            "--proxy-mode=iptables",
            f"--cluster-cidr={PODS}",
            f"--hostname-override={NAME}",
            "--conntrack-max-per-core=0",
            "--conntrack-tcp-timeout-established=0s",
            "--conntrack-tcp-timeout-close-wait=0s",
        ]

    def _metrics_options(self) -> list[str]:
        keys = self._state / "keys"
        return [
            f"--kubeconfig={self._admin}",
            f"--authentication-kubeconfig={self._admin}",
            f"--authorization-kubeconfig={self._admin}",
            f"--bind-address={self._address}",
            f"--secure-port={METRICS_PORT}",
            f"--tls-cert-file={keys}/server.crt",
            f"--tls-private-key-file={keys}/server.key",
            f"--kubelet-certificate-authority={keys}/ca.crt",
            "--kubelet-preferred-address-types=InternalIP",
            "--metric-resolution=10s",
            "--kubelet-request-timeout=5s",
        ]

    def _start_dns(self) -> None:
        module = "deploy.kubernetes_tests.names"
        keys = self._state / "keys"
        self._start(sys.executable, "-m", module, DNS_ADDRESS, f"{self._address}:{API_PORT}", str(keys))

    def _write_containerd_settings(self) -> str:
        plugins = self._tools / "containernetworking-plugins" / "usr" / "lib" / "cni"
        networks = self._folder("networks")
        addresses = {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]}
        bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": True, "hairpinMode": True}
        chain = [bridge | {"ipam": addresses}, {"type": "portmap", "capabilities": {"portMappings": True}}]
        network = {"cniVersion": "0.4.0", "name": "pods", "plugins": chain}
        Path(networks, "10-pods.conflist").write_text(json.dumps(network))
        cri = 'plugins."io.containerd.grpc.v1.cri"'
        path = self._state / "containerd.toml"
        path.write_text(
            f"""version = 2
root = "{self._state}/containerd"
state = "/run/containerd"
oom_score = 0
[grpc]
  address = "{self._state}/containerd.sock"
[{cri}]
  sandbox_image = "{SANDBOX_IMAGE}"
  restrict_oom_score_adj = true
  [{cri}.containerd]
    default_runtime_name = "runc"
    [{cri}.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [{cri}.cni]
    bin_dir = "{plugins}"
    conf_dir = "{networks}"
"""
        )
        return str(path)


def main() -> None:
    """Start a node, and wait for the end of its processes and of those that lost their parents."""
    state, tools, address, gateway, cgroup = sys.argv[1:]
    Node(Path(state), Path(tools), address, gateway, cgroup).start()
    while True:
        os.wait()


if __name__ == "__main__":
    main()
