"""The document on a cluster that changes options of a running agent, laid over the agent's own configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queue_agent.core.values.error_info import ErrorInfo, Origin

FETCH_FAILED: Final = "failed_to_fetch_dynamic_config"
"""Category of the alert: the document could not be read."""

FETCH_FAILED_CODE: Final = 2600
UNRECOGNIZED_CODE: Final = 2602

INVALID: Final = "invalid_dynamic_config"
"""Category of the alert: the document makes no sense."""

INVALID_CODE: Final = 2604

_ALIASES: Final[Mapping[str, str]] = {
    "cypress_synchronizer/write_registration_table_mapping": "cypress_synchronizer/write_replicated_table_mapping",
}
"""Older names of options."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A configuration with a document laid over it."""

    sections: Mapping[str, Any]
    """What is to be in force; values of the document are as they came."""

    unrecognized: tuple[str, ...] = ()
    """Options of the document, as `section/option`, that mean nothing to this agent."""


def overlay(own: Mapping[str, Any], document: Mapping[str, Any]) -> Overlay:
    """Lay a document over the agent's own configuration.

    Args:
        own: every section with every option there is, defaults included.
        document: any of the same sections and options; what is a section in `own` and no map here is taken as it is,
            and has to be refused by whoever checks the result.
    """
    unrecognized: list[str] = []

    def lay(own: Mapping[str, Any], document: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        result = dict(own)
        for key, value in document.items():
            path = _ALIASES.get(f"{prefix}{key}", f"{prefix}{key}")
            name = path.removeprefix(prefix)
            if name not in own:
                unrecognized.append(path)
            elif isinstance(own[name], Mapping) and isinstance(value, Mapping):
                result[name] = lay(own[name], value, f"{path}/")
            else:
                result[name] = value
        return result

    sections = lay(own, document, "")
    return Overlay(sections, tuple(sorted(unrecognized)))


def unrecognized_remark(options: Sequence[str], origin: Origin) -> ErrorInfo:
    """What the author of a document should know, though the document is in force."""
    return origin.error(
        "Found unrecognized options in dynamic config",
        UNRECOGNIZED_CODE,
        attributes={"unrecognized_options": list(options)},
    )


def fetch_alert(error: ErrorInfo, origin: Origin) -> ErrorInfo:
    """The alert while the document cannot be read."""
    return origin.error("Failed to fetch dynamic config from Cypress", FETCH_FAILED_CODE, inner_errors=[error])


def invalid_alert(error: ErrorInfo, origin: Origin) -> ErrorInfo:
    """The alert while the document makes no sense."""
    return origin.error("Invalid dynamic config", INVALID_CODE, inner_errors=[error])
