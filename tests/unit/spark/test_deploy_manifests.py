"""The manifests of deploy/spark name what there is: commands, options, and each other's objects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main
import yaml

from queue_agent.spark.export.__main__ import application
from queue_agent.spark.export.exit_codes import ExitCode

DEPLOY: Final = Path(__file__).parents[3] / "deploy" / "spark"
SOURCES: Final = Path(__file__).parents[3]


def documents(name: str) -> list[Mapping[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def pods(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if document["kind"] == "CronJob":
        yield document["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def check_arguments(arguments: list[str]) -> None:
    group: Any = typer.main.get_command(application)
    command = group.commands[arguments[0]]
    known = {option for parameter in command.params for option in parameter.opts}
    given = {argument.partition("=")[0] for argument in arguments[1:]}
    assert given <= known
    required = {parameter.opts[0] for parameter in command.params if parameter.required}
    assert required <= given


def test_cron_jobs_call_commands_that_there_are() -> None:
    settings = documents("cronjob.yaml")[0]["data"]
    jobs = [document for document in documents("cronjob.yaml") if document["kind"] == "CronJob"]
    assert len(jobs) == 2
    for job in jobs:
        assert (job["apiVersion"], job["spec"]["concurrencyPolicy"]) == ("batch/v1", "Forbid")
        for pod in pods(job):
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                assert container["command"] == ["python", "-m", "queue_agent.spark.export"]
                check_arguments(container["args"])
                used = set(re.findall(r"\$\((\w+)\)", " ".join(container["args"])))
                assert used <= set(settings)
            volumes = {volume["name"] for volume in pod.get("volumes", [])}
            mounts = {mount["name"] for one in pod["containers"] for mount in one.get("volumeMounts", [])}
            assert mounts == volumes


def test_codes_that_a_job_gives_up_at_are_those_that_trying_again_does_not_help() -> None:
    [job] = [one for one in documents("cronjob.yaml") if one["metadata"]["name"] == "queue-export" and "spec" in one]
    template = job["spec"]["jobTemplate"]["spec"]
    [rule] = template["podFailurePolicy"]["rules"]
    hopeless = {ExitCode.WRONG_ARGUMENTS, ExitCode.SOURCE_CHANGED, ExitCode.TARGET_DAMAGED, ExitCode.RANGE_REFUSED}
    assert set(rule["onExitCodes"]["values"]) == hopeless
    assert rule["onExitCodes"]["containerName"] == template["template"]["spec"]["containers"][0]["name"]
    assert template["template"]["spec"]["restartPolicy"] == "Never"  # failure policies want it


def test_the_spark_application_calls_the_same_command() -> None:
    [document] = documents("sparkapplication.yaml")
    assert document["apiVersion"] == "sparkoperator.k8s.io/v1beta2"
    template = document["spec"]["template"]
    check_arguments(template["arguments"])
    inside = template["mainApplicationFile"].partition("site-packages/")[2]
    assert (SOURCES / inside).is_file()
    for role in ("driver", "executor"):
        assert {"cores", "memory", "env"} <= set(template[role])


@pytest.mark.parametrize("name", ["cronjob.yaml", "sparkapplication.yaml"])
def test_no_secret_is_written_into_a_manifest(name: str) -> None:
    for entry in re.finditer(r"- name: (YT_TOKEN|AWS_\w+)\n\s+(\w+):", (DEPLOY / name).read_text()):
        assert entry[2] == "valueFrom"
