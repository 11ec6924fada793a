"""Files with a configuration: YAML and YSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from queue_agent.config.agent import AgentConfig, option_problems
from queue_agent.errors import ConfigError
from yt_wire import yson
from yt_wire.error import YtError


def load_config(path: Path) -> AgentConfig:
    """Read a file, YSON if it ends in `.yson`, YAML if in `.yaml` or `.yml`.

    Raises:
        ConfigError: names the file, and every field that is wrong.
    """
    try:
        content = _read(path)
        if not isinstance(content, Mapping):
            found = "empty" if content is None else f"{type(content).__name__} instead of a map"
            raise ConfigError(f"{path}: the configuration is {found}; see docs/running.md for a first one")
        config = AgentConfig.model_validate(content)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (YtError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    except ValidationError as error:
        raise ConfigError("\n".join(f"{path}: {problem}" for problem in option_problems(error))) from error
    if config.trimming_ceiling != "allowed" and config.queue_agent.controller.enable_automatic_trimming:
        # A document on the cluster may well say so, but one file should not say both.
        raise ConfigError(
            f"{path}: trimming: {config.trimming} contradicts queue_agent.controller.enable_automatic_trimming: true"
        )
    if config.static_exports_ceiling != "allowed" and config.queue_agent.controller.queue_exporter.enable:
        raise ConfigError(
            f"{path}: static_exports: {config.static_exports} contradicts"
            " queue_agent.controller.queue_exporter.enable: true"
        )
    return config


def _read(path: Path) -> Any:
    match path.suffix:
        case ".yson":
            return yson.loads(path.read_bytes())
        case ".yaml" | ".yml":
            try:
                return yaml.safe_load(path.read_text(encoding="utf-8"))
            except RecursionError:
                raise ConfigError(f"{path}: nested too deeply") from None
        case suffix:
            raise ConfigError(f"{path}: must end in .yaml, .yml or .yson, not {suffix!r}")
