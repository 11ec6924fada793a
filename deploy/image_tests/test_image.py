"""The image's steps in a clean root, and what comes of them as a user without rights over files it cannot write."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from deploy.image_tests.dockerfile import Copy, find_base, parse
from deploy.image_tests.image import CHECKOUT, Image, build
from tests.e2e.playground import Playground, eventually, running
from tests.ports import reserved_port
from tests.waiting import LIMIT_SECONDS

CONFIG = "/etc/queue-agent/config"
TOKENS = "/etc/queue-agent/tokens/pythia"

MOST_BYTES = 105_000_000
"""Of what the Dockerfile adds to its base."""


@pytest.fixture(scope="session")
def images() -> Iterator[dict[str, Image]]:
    if os.geteuid() != 0:
        pytest.skip("only root can change its root")
    # Not pytest's own folder, which keeps those of earlier runs: each is a gigabyte.
    folder = tempfile.mkdtemp(prefix="images-")
    try:
        yield build(Path(os.environ["IMAGE_ROOT"]), Path(folder))
    finally:
        subprocess.run(["rm", "-rf", folder], check=True)


@pytest.fixture(scope="session")
def image(images: dict[str, Image]) -> Image:
    """What `docker build` makes without a target."""
    return list(images.values())[-1]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    directory = tmp_path_factory.mktemp("playground")
    with running(directory, "--agents=0", "--require-token", clusters=("pythia",)) as playground:
        yield playground


@pytest.fixture
def mounts(cluster: Playground, tmp_path: Path) -> dict[str, Path]:
    """A configuration and a token as Kubernetes would mount them."""
    assert cluster.token_file is not None
    config, tokens = tmp_path / "config", tmp_path / "tokens"
    config.mkdir()
    tokens.mkdir()
    shutil.copy(cluster.token_file, tokens / "YT_TOKEN")
    (tokens / "YT_TOKEN").chmod(0o444)
    rpc_port, http_port = reserved_port(), reserved_port()
    document = {
        "stage": "production",
        "clusters": {"pythia": {"proxy": cluster.clusters["pythia"], "token_file": f"{TOKENS}/YT_TOKEN"}},
        "state": {"cluster": "pythia"},
        "rpc": {"port": rpc_port, "advertised_host": "127.0.0.1"},
        "http": {"port": http_port},
        "metrics": {"otlp": {"endpoint": "http://127.0.0.1:1/v1/metrics"}},
    }
    (config / "agent.yaml").write_text(json.dumps(document))
    return {CONFIG: config, TOKENS: tokens}


def http_address(mounts: dict[str, Path]) -> str:
    config = json.loads((mounts[CONFIG] / "agent.yaml").read_text())
    return f"http://127.0.0.1:{config['http']['port']}"


@contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that is killed at the end if it still runs."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def check_answers(address: str, process: subprocess.Popen[str]) -> None:
    assert process.poll() is None, process.stdout and process.stdout.read()
    try:
        with urlopen(address, timeout=LIMIT_SECONDS) as response:
            assert response.status == 200
    except URLError as error:
        raise AssertionError(str(error)) from error


def test_the_base_of_all_stages_is_the_python_the_steps_are_proven_with(image: Image) -> None:
    base = find_base(parse((CHECKOUT / "Dockerfile").read_text()))
    code, output = image.run(["python", "-c", "import sys; print('{}.{}'.format(*sys.version_info))"])
    assert (code, base.partition(":")[2].rpartition("-")[2]) == (0, "bookworm")
    assert base.startswith(f"python:{output.strip()}.")


def test_an_engine_is_given_the_files_that_are_copied_and_no_others() -> None:
    stages = parse((CHECKOUT / "Dockerfile").read_text()).values()
    steps = [step for stage in stages for step, _, _ in stage.steps]
    copied = {
        source.rstrip("/") for step in steps if isinstance(step, Copy) and not step.stage for source in step.sources
    }
    first, *rules = (CHECKOUT / ".dockerignore").read_text().split()
    assert first == "*"
    assert {rule.removeprefix("!") for rule in rules if rule.startswith("!")} == copied


def test_the_entry_point_explains_itself(image: Image) -> None:
    code, output = image.run([*image.stage.entrypoint, *image.stage.command])
    assert code == 0, output
    assert "Queue Agent for YTsaurus" in output
    code, output = image.run([*image.stage.entrypoint, "--version"])
    assert (code, output) == (0, f"yt-queue-agent {image.stage.labels['org.opencontainers.image.version']}\n")


def test_state_is_made_and_an_agent_serves_is_healthy_and_ends(image: Image, mounts: dict[str, Path]) -> None:
    entrypoint, address = image.stage.entrypoint, http_address(mounts)
    config = f"--config={CONFIG}/agent.yaml"
    environment = {"QUEUE_AGENT_ADDRESS": address}
    code, output = image.run(image.stage.healthcheck, mounts, environment)
    assert code == 1, output
    code, output = image.run([*entrypoint, "init-state", config], mounts)
    assert code == 0, output
    with ending(image.start([*entrypoint, "run", config, "--host=agent-0"], mounts)) as agent:
        eventually(lambda: check_answers(f"{address}/health/ready", agent), 60)
        code, output = image.run(image.stage.healthcheck, mounts, environment)
        assert (code, json.loads(output)) == (0, {"status": "ok"})
        for page in ("/", "/static/vendor/uplot.js"):
            check_answers(f"{address}{page}", agent)
        status = Path(f"/proc/{agent.pid}/status").read_text()
        uid, _, gid = image.stage.user.partition(":")
        assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n" in status
        assert f"Gid:\t{gid}\t{gid}\t{gid}\t{gid}\n" in status
        assert "CapEff:\t0000000000000000\n" in status
        assert "NoNewPrivs:\t1\n" in status
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(LIMIT_SECONDS) == 0


def test_nothing_but_tmp_can_be_written(image: Image) -> None:
    code, output = image.run(["sh", "-c", "touch /tmp/x && ! touch /opt/queue-agent/x && ! touch /etc/x /x"])
    assert code == 0, output
    assert "Read-only file system" in output


def test_what_only_builds_is_not_there(image: Image) -> None:
    for program in ("pip", "gcc", "curl"):
        code, output = image.run(["sh", "-c", f"command -v {program}"])
        assert code != 0, output
    for module in ("pip", "setuptools", "flit_core", "hatchling", "cyclonedx_py"):
        code, output = image.run(["python", "-c", f"import {module}"])
        assert "ModuleNotFoundError" in output, module
        assert code == 1


def test_no_tests_of_dependencies_are_there(image: Image) -> None:
    found = [path for path in (image.root / "opt/queue-agent").rglob("tests") if path.is_dir()]
    assert found == []


def test_the_health_check_wants_the_agent_of_its_container(image: Image) -> None:
    """In a container nobody serves in, whatever answers elsewhere at its port is not asked, or does not answer."""
    presence = image.stage.environment["QUEUE_AGENT_PRESENCE"]
    written = (
        """import json; json.dump({"url": "http://127.0.0.1:1", "config": "x", "process": "x"}, open("%s", "w"))"""
    )
    script = f"python -c '{written % presence}' && exec {' '.join(image.stage.healthcheck)}"
    code, output = image.run(["sh", "-c", script])
    assert code == 1, output
    assert "http://127.0.0.1:1 does not answer" in output


def test_the_image_is_small(image: Image) -> None:
    """Of its 200 MB: the rest is the base, of which this machine may have another than people have."""
    files = [path for path in (image.root / "opt/queue-agent").rglob("*") if path.is_file() and not path.is_symlink()]
    size = sum(path.stat().st_size for path in files)
    assert size < MOST_BYTES, f"{size / 1e6:.0f} MB"


def test_no_library_has_symbols_and_all_are_loaded(image: Image) -> None:
    libraries = [str(path) for path in (image.root / "opt/queue-agent").rglob("*.so*") if path.is_file()]
    sections = subprocess.run(["readelf", "-SW", *libraries], check=True, capture_output=True, text=True).stdout
    assert ".dynsym" in sections
    assert ".symtab" not in sections
    loading = """
import importlib.machinery, importlib.util, pathlib, sys, sysconfig
packages, suffixes = pathlib.Path(sysconfig.get_path("purelib")), importlib.machinery.EXTENSION_SUFFIXES
paths = [path for path in packages.rglob("*") if path.name.endswith(tuple(suffixes))]
for path in paths:
    name = ".".join((*path.relative_to(packages).parts[:-1], path.name.partition(".")[0]))
    importlib.import_module(name)
print(len(paths))
"""
    code, output = image.run(["python", "-c", loading])
    assert code == 0, output
    assert int(output) > 20
    code, output = image.run(
        ["python", "-c", "from pygments.lexers import get_lexer_by_name as get; print(get('python'))"]
    )
    assert code == 0, output


def test_the_image_lists_what_is_in_it(image: Image) -> None:
    code, output = image.run(["cat", "/opt/queue-agent/share/sbom.cdx.json"])
    assert code == 0
    listed = {one["name"]: one["version"] for one in json.loads(output)["components"]}
    installed = """
import importlib.metadata, json
print(json.dumps({one.name: one.version for one in importlib.metadata.distributions()}))
"""
    code, output = image.run(["python", "-c", installed])
    assert (code, json.loads(output)) == (0, listed)
    assert {"yt-queue-agent", "yt-local-cluster", "aiohttp"} <= set(listed)


def test_the_operators_pod_and_job_find_what_they_start(
    images: dict[str, Image], cluster: Playground, mounts: dict[str, Path], tmp_path: Path
) -> None:
    operator = images["operator"]
    token = (mounts[TOKENS] / "YT_TOKEN").read_text().strip()
    proxy = cluster.clusters["pythia"]
    code, output = operator.run(
        ["bash", "-c", f"set -eux; /usr/bin/init_queue_agent_state --latest --proxy {proxy.removeprefix('http://')}"],
        environment={"YT_TOKEN": token},
    )
    assert code == 0, output
    assert token not in output
    rpc_port, http_port = reserved_port(), reserved_port()
    written = tmp_path / "operator"
    written.mkdir()
    (written / "ytserver-queue-agent.yson").write_text(
        f'{{"monitoring_port"={http_port}; "rpc_port"={rpc_port}; "cluster_connection"={{"cluster_name"=pythia}};'
        f' user="queue_agent"; "queue_agent"={{stage=production}};'
        f' "yt_queue_agent"={{clusters={{pythia={{proxy="{proxy}"}}}}; rpc={{"advertised_host"="127.0.0.1"}}}}}}'
    )
    command = ["/usr/bin/ytserver-queue-agent", "--config", "/config/ytserver-queue-agent.yson"]
    with ending(operator.start(command, {"/config": written, "/etc/queue-agent/token": mounts[TOKENS]})) as agent:
        eventually(lambda: check_answers(f"http://127.0.0.1:{http_port}/health/ready", agent), 60)
        agent.send_signal(signal.SIGTERM)
        assert agent.wait(LIMIT_SECONDS) == 0
