"""Starts a Kubernetes with a local cluster and three agents, says how to use it, and waits for Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Final

from deploy.kubernetes_tests.client import RELEASE, Client
from deploy.kubernetes_tests.machine import Machine, why_not
from deploy.kubernetes_tests.stage import set_up

WORDS: Final = """
A Kubernetes runs with a local cluster and three agents. In another terminal:

  export KUBECONFIG={kubeconfig} PATH={tools}/bin:$PATH
  kubectl --namespace yt get pods
  kubectl --namespace yt exec {release}-0 -- queue-agent status
  kubectl --namespace yt port-forward service/{release} 10030    the console: http://127.0.0.1:10030
  yt --proxy {address}:30080 get //home/demo/queue/@queue_status    with YT_TOKEN=roottoken

Ctrl-C ends it, and nothing stays.
"""


def main() -> None:
    """Run until a signal."""
    if reason := why_not():
        sys.exit(reason)
    tools = Path(os.environ["TOOLS_HOME"])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Machine(tools) as machine:
            kubeconfig = machine.state / "admin.conf"
            client = Client(tools, kubeconfig, machine.state)
            set_up(machine, client, tools)
            client.deploy("--set", "replicas=3")
            print(
                WORDS.format(kubeconfig=kubeconfig, tools=tools, release=RELEASE, address=machine.address), flush=True
            )
            signal.pause()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
