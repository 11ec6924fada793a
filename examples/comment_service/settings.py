"""Settings of the service, read from its environment."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

DirectoryPath = Annotated[str, StringConstraints(pattern=r"^//[^\[\]\s]+$", min_length=3)]
"""A directory of a cluster, as it can stand in a query."""


class Settings(BaseModel):
    """Settings, each under its name in upper case in the environment."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    cluster: Annotated[str, StringConstraints(min_length=1)]
    """The cluster that has the tables: an address of its HTTP proxy, or a name that ytsaurus-client knows."""

    table_path: DirectoryPath
    """The directory that `create_tables` was given."""

    host: str = "127.0.0.1"
    """Where to listen."""

    port: Annotated[int, Field(ge=0, le=65535)] = 5000
    """Where to listen; 0 is any free port."""

    timeout: Annotated[float, Field(gt=0)] = 15
    """Seconds that one command may take on the cluster."""

    workers: Annotated[int, Field(ge=1, le=256)] = 8
    """Requests that are worked on at a time; each has a thread."""

    attempts: Annotated[int, Field(ge=1, le=100)] = 10
    """How often a change is tried that conflicts with another one."""

    logs: Path = Path(tempfile.gettempdir()) / "comment_service"
    """Directory of the logs; made if need be."""

    @property
    def transaction_timeout(self) -> timedelta:
        """After that a transaction whose owner is gone is gone, too; it has about eight commands."""
        return timedelta(seconds=10 * self.timeout)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Take the settings that are there and not empty.

        Raises:
            ValidationError: one is missing or makes no sense.
        """
        given = {name: environment.get(name.upper()) for name in cls.model_fields}
        given["table_path"] = without_final_slash(given["table_path"] or "")
        return cls.model_validate({name: value for name, value in given.items() if value})


def without_final_slash(path: str) -> str:
    """The same directory, as the names of tables can be added to it."""
    return path.rstrip("/")
