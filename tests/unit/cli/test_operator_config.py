"""Files the k8s operator writes for the C++ agent, and scripts it runs."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from queue_agent.cli.operator_config import TOKEN_FILE, read_operator_config, translate
from queue_agent.config.file import load_config
from queue_agent.errors import ConfigError

SHIMS = Path(__file__).parents[3] / "deploy" / "operator"
HOST = "qa-demo-1.queue-agents-demo.yt.svc.cluster.local"
WRITTEN = b"""{
    "address_resolver"={"enable_ipv4"=%%true;};
    "monitoring_port"=10031;
    "rpc_port"=9031;
    "cluster_connection"={"cluster_name"=demo; "primary_master"={"cell_id"="65726e65-ad6b7562-259-79747361"}};
    "cypress_annotations"={"k8s_pod_name"="qa-demo-1"};
    user="queue_agent";
    "queue_agent"={stage=trial};
    %s
}"""


def write(directory: Path, more: bytes = b"") -> Path:
    path = directory / "ytserver-queue-agent.yson"
    path.write_bytes(WRITTEN % more)
    return path


def test_a_pod_of_the_operator_needs_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(json.dumps(translate(read_operator_config(write(tmp_path)), HOST)))
    config = load_config(path)
    assert config.stage == "trial"
    assert config.address(config.rpc.port) == f"{HOST}:9031"
    assert config.http.port == 10031
    assert config.state.cluster == "demo"
    assert config.clusters["demo"].proxy == "http://http-proxies-demo.yt.svc.cluster.local"
    assert config.clusters["demo"].token_file == Path(TOKEN_FILE)
    assert config.trimming_ceiling == "never"


def test_short_names_of_services_have_no_suffix(tmp_path: Path) -> None:
    config = translate(read_operator_config(write(tmp_path)), "qa-0.queue-agents.yt.svc.cluster.local")
    assert config["clusters"]["demo"]["proxy"] == "http://http-proxies.yt.svc.cluster.local"


def test_the_overrides_section_wins_key_by_key(tmp_path: Path) -> None:
    more = b'yt_queue_agent={trimming=allowed; clusters={demo={proxy="https://proxy"}; hume={proxy="hume:80"}}}'
    config = translate(read_operator_config(write(tmp_path, more)), "laptop")
    assert config["trimming"] == "allowed"
    assert config["clusters"] == {
        "demo": {"proxy": "https://proxy", "token_file": TOKEN_FILE},
        "hume": {"proxy": "hume:80"},
    }


def test_elsewhere_the_proxies_have_to_be_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="yt_queue_agent/clusters/demo/proxy"):
        translate(read_operator_config(write(tmp_path)), "laptop")


@pytest.mark.parametrize("content", [b"{a=", b"[1]"])
def test_what_is_no_map_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.yson"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"file\.yson"):
        read_operator_config(path)


class Recorder:
    """A `queue-agent` that writes down what it is called with."""

    def __init__(self, directory: Path) -> None:
        self.calls = directory / "calls"
        program = directory / "queue-agent"
        program.write_text(
            f'#!/bin/bash\necho "$@" >> {self.calls}\n'
            'while [ $# -gt 0 ]; do if [ "$1" = --token-file ]; then cat "$2"; fi; shift; done\n'
        )
        program.chmod(0o755)
        self._environment = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}", "TMPDIR": str(directory)}

    def run(self, shim: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**self._environment, **variables}
        command = [str(SHIMS / shim), *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    "flags",
    [
        ["--latest"],
        ["--create-registration-table", "--create-replicated-table-mapping-table", "--recursive", "--ignore-existing"],
    ],
)
def test_the_operators_job_makes_the_state_with_new_and_old_flags(tmp_path: Path, flags: list[str]) -> None:
    recorder = Recorder(tmp_path)
    done = recorder.run("init_queue_agent_state", *flags, "--proxy", "http-proxies.yt", YT_TOKEN="secret")
    assert (done.returncode, done.stdout) == (0, "secret"), done.stderr
    [call] = recorder.calls.read_text().splitlines()
    assert call.startswith("init-state ")
    assert "--proxy http://http-proxies.yt" in call
    token_file = call.partition("--token-file ")[2]
    assert token_file
    assert not Path(token_file).exists()


def test_flags_that_can_not_be_honoured_are_refused(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    done = recorder.run("init_queue_agent_state", "--latest", "--shard-count", "3")
    assert done.returncode == 2
    assert "--shard-count" in done.stderr
    assert not recorder.calls.exists()


def test_the_operators_command_line_runs_the_agent(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path)
    done = recorder.run("ytserver-queue-agent", "--config", "/config/ytserver-queue-agent.yson")
    assert done.returncode == 0, done.stderr
    translated, ran = recorder.calls.read_text().splitlines()
    # The first one's output is the file of the second.
    assert ran.startswith(f"run --config {tmp_path}/")
    assert ran.endswith(".yaml")
    assert translated == "operator-config /config/ytserver-queue-agent.yson"
