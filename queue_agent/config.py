"""Configuration of the agent; every field is explained below it, the reference page is generated from here."""

from __future__ import annotations

import socket
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from queue_agent.errors import ConfigError
from queue_agent.wire import yson
from queue_agent.wire.error import YtError


class ConfigModel(BaseModel):
    """Base of all sections: immutable, unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


def _from_milliseconds(value: Any) -> Any:
    return timedelta(milliseconds=value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


Duration = Annotated[timedelta, BeforeValidator(_from_milliseconds), Field(gt=timedelta(0))]
"""A bare number means milliseconds, as in YTsaurus itself; pydantic alone would say seconds."""


class ClusterConfig(ConfigModel):
    """How to reach one cluster."""

    proxy: str
    """Address of the HTTP proxy or its balancer: `http://host:port`, `https://host`, or `host:port` for HTTP."""

    token_file: Path | None = None
    """File with the OAuth token of the agent's user; read again when it changes."""

    ca_file: Path | None = None
    """PEM file with the certificate authorities to trust for HTTPS; the system's by default."""

    discover_proxies: bool = True
    """Ask the proxy for other proxies (`/hosts`) and spread heavy requests over them."""

    request_timeout: Duration = timedelta(seconds=20)
    """For one HTTP request, from sending it to the end of the answer."""

    connect_timeout: Duration = timedelta(seconds=5)
    """For one TCP connection to be made."""

    retry_count: int = Field(default=2, ge=0)
    """How often a light request that failed on its way is repeated, on another proxy where there is one."""


class StateConfig(ConfigModel):
    """Where the state tables are."""

    cluster: str
    """Name of one of `clusters`."""

    root: str = "//sys/queue_agents"
    """Directory of the tables."""


class ListenConfig(ConfigModel):
    """Where a server listens."""

    host: str = "0.0.0.0"
    """Address to bind to; all of IPv4 by default."""

    port: int = Field(ge=0, le=65535)
    """0 takes any free port."""


class RpcConfig(ListenConfig):
    """The server masters ask for `@queue_status` and its like."""

    port: int = Field(default=9030, ge=0, le=65535)
    """0 takes any free port."""


class HttpConfig(ListenConfig):
    """The server of status, metrics and health."""

    port: int = Field(default=10030, ge=0, le=65535)
    """0 takes any free port."""


class CypressSynchronizerConfig(ConfigModel):
    """The pass that carries attributes of queues and consumers into the state tables."""

    pass_period: Duration = timedelta(seconds=1)
    """From the start of one pass to the start of the next; a longer pass is followed by the next at once."""

    pass_timeout: Duration = timedelta(seconds=60)
    """A pass that takes longer has failed."""

    enable: bool = True
    """Off: the tables are kept by somebody else."""

    clusters: tuple[str, ...] | None = None
    """Whose objects are watched; all of `clusters` by default."""


class ControllerConfig(ConfigModel):
    """Passes over one queue or one consumer."""

    pass_period: Duration = timedelta(seconds=1)
    """From the start of one pass to the start of the next; a longer pass is followed by the next at once."""

    pass_timeout: Duration = timedelta(seconds=60)
    """A pass that takes longer has failed."""

    enable_automatic_trimming: bool = False
    """Trim queues that ask for it in `@auto_trim_config`; without it rows are never deleted."""

    trimming_period: Duration | None = None
    """How often a queue is trimmed, rounded up to whole passes; every pass by default."""


class QueueAgentConfig(ConfigModel):
    """The pass that reads the state tables, and the passes over the objects found there."""

    pass_period: Duration = timedelta(seconds=1)
    """From the start of one pass to the start of the next; a longer pass is followed by the next at once."""

    pass_timeout: Duration = timedelta(seconds=60)
    """A pass that takes longer has failed."""

    controller: ControllerConfig = ControllerConfig()
    """Passes over one object."""


class LoggingConfig(ConfigModel):
    """Log lines on standard error."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe lines to write."""

    format: Literal["json", "console"] = "json"
    """`json`: an object a line, for programs; `console`: for people."""


class AgentConfig(ConfigModel):
    """The whole configuration of `queue-agent run`."""

    stage: str = Field(min_length=1)
    """Objects with this `@queue_agent_stage` are led here."""

    clusters: dict[str, ClusterConfig] = Field(min_length=1)
    """By name, as `//sys/@cluster_connection/cluster_name` has it; references are written with these names."""

    state: StateConfig
    """Where the state tables are."""

    host: str = Field(default_factory=socket.gethostname, min_length=1)
    """Published as `queue_agent_host`; the machine's name by default."""

    rpc: RpcConfig = RpcConfig()
    """The server masters ask for `@queue_status` and its like."""

    http: HttpConfig = HttpConfig()
    """The server of status, metrics and health."""

    cypress_synchronizer: CypressSynchronizerConfig = CypressSynchronizerConfig()
    """The pass that carries attributes of queues and consumers into the state tables."""

    queue_agent: QueueAgentConfig = QueueAgentConfig()
    """The pass that reads the state tables, and the passes over the objects found there."""

    logging: LoggingConfig = LoggingConfig()
    """Log lines on standard error."""

    @model_validator(mode="after")
    def _clusters_exist(self) -> Self:
        named = {"state.cluster": (self.state.cluster,), "cypress_synchronizer.clusters": self.watched_clusters}
        for field, names in named.items():
            unknown = sorted(set(names) - set(self.clusters))
            if unknown:
                raise ValueError(f"{field}: not in clusters: {', '.join(unknown)}")
        return self

    @property
    def watched_clusters(self) -> tuple[str, ...]:
        """Names of the clusters whose objects are watched."""
        chosen = self.cypress_synchronizer.clusters
        return tuple(self.clusters) if chosen is None else chosen


def load_config(path: Path) -> AgentConfig:
    """Read a file, YSON if it ends in `.yson`, YAML if in `.yaml` or `.yml`.

    Raises:
        ConfigError: names the file, and every field that is wrong.
    """
    try:
        return AgentConfig.model_validate(_read(path))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except (YtError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
        raise ConfigError("\n".join(f"{path}: {problem.removeprefix(': ')}" for problem in problems)) from error


def _read(path: Path) -> Any:
    match path.suffix:
        case ".yson":
            return yson.loads(path.read_bytes())
        case ".yaml" | ".yml":
            return yaml.safe_load(path.read_text(encoding="utf-8"))
        case suffix:
            raise ConfigError(f"{path}: must end in .yaml, .yml or .yson, not {suffix!r}")
