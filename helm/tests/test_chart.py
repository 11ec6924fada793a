"""The chart as helm, helm-unittest and kubeconform see it, for the values in `ci/`."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from helm.tests.chart import CHART, KUBERNETES, NAMESPACE, rendered, run, template, tools
from helm.tests.schemas import PATTERN, write_schemas
from queue_agent.cli.main import application
from queue_agent.config.file import load_config

DEPLOY = CHART.parent.parent / "deploy"
RULES = DEPLOY / "prometheus" / "rules"
DASHBOARDS = DEPLOY / "grafana" / "dashboards"
MATRIX = sorted((CHART / "ci").glob("*-values.yaml"))


@pytest.fixture(scope="session")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schemas")
    write_schemas(tools(), folder, KUBERNETES)
    return folder


def test_helm_finds_nothing_to_object_to() -> None:
    for options in ([], *(["--values", str(values)] for values in MATRIX)):
        checked = run("helm", "lint", "--strict", CHART, "--kube-version", KUBERNETES[-1], *options)
        assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("values", MATRIX, ids=lambda path: path.stem)
def test_kubernetes_accepts_every_object(values: Path, version: str, schemas: Path, tmp_path: Path) -> None:
    made = template(values, version)
    assert made.returncode == 0, made.stderr
    objects = tmp_path / "objects.yaml"
    objects.write_text(made.stdout)
    checked = run(
        *("kubeconform", "-strict", "-summary", "-output", "json", "-kubernetes-version", version),
        *("-schema-location", f"{schemas}/{PATTERN}", objects),
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    summary = json.loads(checked.stdout)["summary"]
    assert summary["valid"] > 0
    assert summary["skipped"] == 0


def test_the_schemas_are_strict(schemas: Path, tmp_path: Path) -> None:
    objects = rendered(CHART / "ci" / "full-values.yaml")
    for kind in ("StatefulSet", "ServiceMonitor", "PrometheusRule"):
        [one] = (document for document in objects if document["kind"] == kind)
        wrong = tmp_path / "wrong.yaml"
        wrong.write_text(yaml.safe_dump({**one, "spec": {**one["spec"], "mistake": 1}}))
        checked = run(
            *("kubeconform", "-strict", "-kubernetes-version", KUBERNETES[-1]),
            *("-schema-location", f"{schemas}/{PATTERN}", wrong),
        )
        assert checked.returncode == 1, kind
        assert "mistake" in checked.stdout, kind


@pytest.mark.parametrize("values", MATRIX, ids=lambda path: path.stem)
def test_the_agent_takes_the_configuration(values: Path, tmp_path: Path) -> None:
    given = yaml.safe_load(values.read_text())
    for document in rendered(values):
        if document["kind"] != "ConfigMap" or "agent.yaml" not in document["data"]:
            continue
        path = tmp_path / "agent.yaml"
        path.write_text(document["data"]["agent.yaml"])
        config = load_config(path)
        assert config.stage == given["config"].get("stage", "production")
        assert set(config.clusters) == set(given["config"]["clusters"])
        for name, cluster in config.clusters.items():
            assert (cluster.token_file is not None) == (name in given.get("tokens", {}))
            assert (cluster.ca_file is not None) == (name in given.get("authorities", {}))


@pytest.mark.parametrize("values", MATRIX, ids=lambda path: path.stem)
def test_everything_a_pod_refers_to_is_there(values: Path) -> None:
    objects = rendered(values)
    made = {(document["kind"], document["metadata"]["name"]) for document in objects}
    names = Counter((document["kind"], document["metadata"]["name"]) for document in objects)
    assert set(names.values()) == {1}
    for name, pod in _pods(objects):
        config = next((volume for volume in pod.get("volumes", ()) if volume["name"] == "config"), None)
        if config:
            assert ("ConfigMap", config["configMap"]["name"]) in made, name
        volumes = {volume["name"] for volume in pod.get("volumes", ())}
        for container in pod["containers"]:
            assert {mount["name"] for mount in container.get("volumeMounts", ())} <= volumes, name
            # Helm 4 applies server-side, where a name that comes twice is refused.
            assert set(Counter(variable["name"] for variable in container.get("env", ())).values()) <= {1}
            assert set(Counter(port["containerPort"] for port in container.get("ports", ())).values()) <= {1}


@pytest.mark.parametrize("values", MATRIX, ids=lambda path: path.stem)
def test_every_container_of_the_chart_is_confined(values: Path) -> None:
    for name, pod in _pods(rendered(values)):
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        ours = [container for container in pod["containers"] if "yt-queue-agent" in container["image"]]
        assert ours, name
        for container in ours:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True, name
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert container["resources"]["requests"]["memory"] == container["resources"]["limits"]["memory"], name


def test_the_command_line_understands_what_containers_are_started_with() -> None:
    program = get_command(application)
    assert isinstance(program, TyperGroup)
    started = set()
    for _, pod in _pods(rendered(CHART / "ci" / "full-values.yaml")):
        for container in pod["containers"]:
            if "yt-queue-agent" in container["image"]:
                name, *options = container["args"]
                # Names and values of options are checked, and nothing is done.
                program.commands[name].make_context(name, options).close()
                started.add(name)
    assert started == {"run", "health", "init-state", "register-addresses", "install-dashboards"}


def test_services_choose_agents_and_no_jobs() -> None:
    objects = rendered(CHART / "ci" / "full-values.yaml")
    services = [document for document in objects if document["kind"] == "Service"]
    assert services
    for service in services:
        selector = service["spec"]["selector"].items()
        for document in objects:
            if document["kind"] == "Pod":
                assert not selector <= document["metadata"]["labels"].items()
            if document["kind"] == "Job":
                assert not selector <= document["spec"]["template"]["metadata"]["labels"].items()
            if document["kind"] == "StatefulSet":
                assert selector <= document["spec"]["template"]["metadata"]["labels"].items()


def test_agents_have_the_addresses_that_masters_are_told() -> None:
    objects = rendered(CHART / "ci" / "full-values.yaml")
    [agents] = (document for document in objects if document["kind"] == "StatefulSet")
    [job] = (d for d in objects if d["kind"] == "Job" and d["metadata"]["name"].endswith("register-addresses"))
    [container] = job["spec"]["template"]["spec"]["containers"]
    told = [argument.partition("=")[2] for argument in container["args"] if argument.startswith("--address=")]
    agent = agents["spec"]["template"]["spec"]["containers"][0]
    [host] = (variable["value"] for variable in agent["env"] if variable["name"] == "QUEUE_AGENT_HOST")
    name, replicas = agents["metadata"]["name"], agents["spec"]["replicas"]
    assert told == [host.replace("$(POD_NAME)", f"{name}-{number}") + ":10130" for number in range(replicas)]
    assert f".{agents['spec']['serviceName']}.{NAMESPACE}.svc." in host
    assert ("Service", agents["spec"]["serviceName"]) in {(d["kind"], d["metadata"]["name"]) for d in objects}


def test_promtool_takes_the_rules_the_operator_would_give_it(tmp_path: Path) -> None:
    [rules] = (d for d in rendered(CHART / "ci" / "full-values.yaml") if d["kind"] == "PrometheusRule")
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(rules["spec"]))
    checked = run("promtool", "check", "rules", path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_all_rules_are_those_of_deploy_but_for_what_was_asked() -> None:
    [rules] = (d for d in rendered(CHART / "ci" / "full-values.yaml") if d["kind"] == "PrometheusRule")
    made = {_name(rule): rule for group in rules["spec"]["groups"] for rule in group["rules"]}
    sources = [yaml.safe_load(path.read_text()) for path in sorted(RULES.glob("*.yaml"))]
    written = {_name(rule): rule for source in sources for group in source["groups"] for rule in group["rules"]}
    assert set(written) - set(made) == {"QueueAgentSeriesShed"}
    for name, rule in made.items():
        changed = {key for key in {*rule, *written[name]} if rule.get(key) != written[name].get(key)}
        expected = {
            "QueueRetentionPinned": {"expr", "for", "labels", "annotations"},
            "ConsumerLagTooOld": {"expr", "labels", "annotations"},
            "ConsumerLosesRowsSoon": {"keep_firing_for", "labels", "annotations"},
        }
        assert changed == ({"labels", "annotations"} if "alert" in rule else set()) | expected.get(name, set()), name
        if "alert" in rule:
            assert rule["labels"]["team"] == "queues"
            assert rule["annotations"]["runbook_url"].startswith("https://")
    pinned = made["QueueRetentionPinned"]
    assert pinned["expr"].endswith("> 5000000.5")
    assert (pinned["for"], pinned["labels"]["severity"], pinned["labels"]["page"]) == ("2h", "critical", "yes")
    assert made["QueueAgentDown"]["annotations"]["runbook_url"] == (
        "https://runbooks.example.net/queues/QueueAgentDown.md"
    )


def test_every_alert_has_a_threshold_that_can_be_changed(tmp_path: Path) -> None:
    sources = [yaml.safe_load(path.read_text()) for path in RULES.glob("*.yaml")]
    rules = [rule for source in sources for group in source["groups"] for rule in group["rules"]]
    alerts = [rule["alert"] for rule in rules if "alert" in rule]
    values = tmp_path / "values.yaml"
    values.write_text(
        yaml.safe_dump(
            {
                "config": {"clusters": {"primary": {"proxy": "proxy:80"}}},
                "rules": {"enabled": True, "alerts": {name: {"threshold": 0.125} for name in alerts}},
            }
        )
    )
    [made] = (document for document in rendered(values) if document["kind"] == "PrometheusRule")
    changed = [rule for group in made["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
    assert [rule["alert"] for rule in changed if not rule["expr"].endswith(" 0.125")] == []
    assert sorted(rule["alert"] for rule in changed) == sorted(alerts)


def test_grafana_finds_the_dashboards_of_deploy() -> None:
    objects = rendered(CHART / "ci" / "full-values.yaml")
    found: dict[str, Any] = {}
    for document in objects:
        if document["metadata"].get("labels", {}).get("grafana_dashboard") == "1":
            assert document["metadata"]["namespace"] == "monitoring"
            found |= document["data"]
    assert {name: json.loads(text) for name, text in found.items()} == {
        path.name: json.loads(path.read_text()) for path in DASHBOARDS.glob("*.json")
    }
    assert found


def test_a_package_of_the_chart_is_whole(tmp_path: Path) -> None:
    packed = run("helm", "package", CHART, "--destination", tmp_path)
    assert packed.returncode == 0, packed.stderr
    [package] = tmp_path.glob("*.tgz")
    with tarfile.open(package) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
    names = {member.name.removeprefix("queue-agent/") for member in files}
    assert {f"files/rules/{path.name}" for path in RULES.glob("*.yaml")} <= names
    assert {f"files/dashboards/{path.name}" for path in DASHBOARDS.glob("*.json")} <= names
    assert not any(name.startswith(("tests/", "ci/")) for name in names)


@pytest.mark.parametrize(("least", "is_right"), [(3, True), (5, True), (6, False)])
def test_numbers_may_come_from_the_command_line(least: int, is_right: bool) -> None:
    """They are of another type than those of a file."""
    values = CHART / "ci" / "full-values.yaml"
    numbers = ("autoscaling.enabled=true", f"autoscaling.minReplicas={least}", "autoscaling.maxReplicas=5")
    options = [option for number in numbers for option in ("--set", number)]
    one = template(values, KUBERNETES[-1], *options[:4])
    both = template(values, KUBERNETES[-1], *options)
    assert (both.returncode == 0) is is_right, both.stderr
    for made in (one, both):
        assert made.returncode == 0 or "must not be greater than" in made.stderr


def test_names_are_no_longer_than_labels_may_be() -> None:
    values = CHART / "ci" / "full-values.yaml"
    made = run(
        *("helm", "template", "r" * 53, CHART, "--values", values, "--kube-version", KUBERNETES[-1]),
        *("--set", "nameOverride=" + "n" * 43),
    )
    assert made.returncode == 0, made.stderr
    objects = [document for document in yaml.safe_load_all(made.stdout) if document]
    # A hash of ten characters is appended to a StatefulSet's name in a label of its pods.
    limits = {"StatefulSet": 52, "Job": 63, "Service": 63, "Pod": 63}
    assert {document["kind"] for document in objects} >= set(limits)
    too_long = [d["metadata"]["name"] for d in objects if len(d["metadata"]["name"]) > limits.get(d["kind"], 253)]
    assert too_long == []


def test_helm_unittest_agrees() -> None:
    checked = run("helm-unittest", "--color=false", CHART)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def _name(rule: dict[str, Any]) -> str:
    return str(rule.get("alert") or rule["record"])


def _pods(objects: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    pods = []
    for document in objects:
        name = f"{document['kind']} {document['metadata']['name']}"
        if document["kind"] == "Pod":
            pods.append((name, document["spec"]))
        elif "template" in document.get("spec", ()):
            pods.append((name, document["spec"]["template"]["spec"]))
    return pods
