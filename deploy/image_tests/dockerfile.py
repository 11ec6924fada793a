"""A Dockerfile's instructions, as far as ours uses them."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath


@dataclass(frozen=True, slots=True)
class Run:
    """A command line for the shell."""

    command: str


@dataclass(frozen=True, slots=True)
class Copy:
    """Files of the checkout, or of another stage."""

    sources: tuple[str, ...]
    target: str
    stage: str | None


@dataclass(slots=True)
class Stage:
    """From one FROM to the next.

    What images inherit is here as it is at the end of the stage; RUN and COPY get what there is before them.
    """

    base: str
    """Name of an image or of an earlier stage."""

    steps: list[tuple[Run | Copy, dict[str, str], str]] = field(default_factory=list)
    """With the environment and the working directory in which they are done."""

    environment: dict[str, str] = field(default_factory=dict)
    directory: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    ports: list[str] = field(default_factory=list)


NOTHING = "scratch"
"""Base of a stage that begins without any file."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MOUNT = re.compile(r"^(--mount=\S+ )+")
"""What is lent to a step if somebody lends it; here nobody does."""

_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


def parse(text: str) -> dict[str, Stage]:
    """Stages by name, in order; one without a name has that of its number.

    Raises:
        ValueError: there is an instruction we do not know, which has to be added here.
    """
    stages: dict[str, Stage] = {}
    arguments: dict[str, str] = {}
    for instruction, rest in _instructions(text):
        if instruction == "FROM":
            base, _, name = rest.partition(" AS ")
            parent = stages.get(base)
            stage = stages[name or str(len(stages))] = Stage(base)
            stage.environment["PATH"] = DEFAULT_PATH
            if parent is not None:
                stage.environment = dict(parent.environment)
                for attribute in ("directory", "user", "entrypoint", "command", "healthcheck", "labels", "ports"):
                    setattr(stage, attribute, getattr(parent, attribute))
            arguments = {}
            continue
        stage = list(stages.values())[-1]
        match instruction:
            case "RUN":
                command = _MOUNT.sub("", rest)
                stage.steps.append((Run(command), dict(stage.environment), stage.directory))
            case "COPY":
                words = rest.split()
                origin = None
                if words[0].startswith("--from="):
                    origin = words.pop(0).removeprefix("--from=")
                copy = Copy(tuple(words[:-1]), words[-1], origin)
                stage.steps.append((copy, dict(stage.environment), stage.directory))
            case "ENV":
                for name, value in _assignments(rest, {**arguments, **stage.environment}):
                    stage.environment[name] = value
            case "ARG":
                name, _, value = rest.partition("=")
                arguments[name] = value
            case "LABEL":
                stage.labels = stage.labels | dict(_assignments(rest, arguments))
            case "WORKDIR":
                stage.directory = str(PurePosixPath(stage.directory) / rest)
            case "USER":
                stage.user = rest
            case "EXPOSE":
                stage.ports = rest.split()
            case "ENTRYPOINT":
                stage.entrypoint = json.loads(rest)
            case "CMD":
                stage.command = json.loads(rest)
            case "HEALTHCHECK":
                stage.healthcheck = json.loads(rest.partition("CMD ")[2])
            case _:
                raise ValueError(f"do not know the instruction {instruction}")
    return stages


def find_base(stages: dict[str, Stage]) -> str:
    """Name of the only image that all stages begin with."""
    [base] = {stage.base for stage in stages.values()} - set(stages) - {NOTHING}
    return base


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            instruction, _, rest = line.strip().partition(" ")
            yield instruction, " ".join(rest.split())


def _assignments(text: str, variables: dict[str, str]) -> Iterator[tuple[str, str]]:
    for word in shlex.split(text):
        name, _, value = word.partition("=")
        yield name, _VARIABLE.sub(lambda match: variables.get(match[1] or match[2], ""), value)
