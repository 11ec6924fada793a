"""`values.schema.json`: models of the values and of the agent's configuration in draft 7, which every Helm knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from helm.generate.commented_values import Value
from helm.generate.values import ChartValues

_DRAFT: Final = "http://json-schema.org/draft-07/schema#"
_UNKNOWN_TO_DRAFT_7: Final = ("gt", "title", "discriminator", "default")
_DURATION: Final[dict[str, Any]] = {"pattern": "^P", "type": "string"}
_LEFT_TO_THE_CHART: Final = {"ClusterConfig": ("token_file", "ca_file"), "AgentConfig": ("host",)}
"""Of the configuration: the chart knows where it mounts what, and what the pods are called."""

_FILLED_IN: Final = {"AgentConfig": ("state",), "StateConfig": ("cluster",)}
"""Not required, for the chart can tell; without a cluster it says so in words."""


def build_schema(values: Iterable[Value]) -> dict[str, Any]:
    """The schema, with the descriptions of `values.yaml`."""
    schema = ChartValues.model_json_schema(ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs")
    for model, names in _LEFT_TO_THE_CHART.items():
        for name in names:
            del definitions[model]["properties"][name]
    for model, names in _FILLED_IN.items():
        required = [name for name in definitions[model].get("required", ()) if name not in names]
        definitions[model]["required"] = required
    definitions["AgentConfig"]["properties"]["clusters"].pop("minProperties")
    # Helm merges what is given into values.yaml: nothing has to be given but what has no default there.
    for model in ("ChartValues", *_sections(schema["properties"])):
        (schema if model == "ChartValues" else definitions[model]).pop("required", None)
    # Charts that include this one give it such keys.
    schema["properties"]["global"] = {"type": "object"}
    for value in values:
        holder: Any = schema
        for name in value.path[:-1]:
            holder = definitions[holder["properties"][name]["$ref"].rpartition("/")[2]]
            if holder is definitions["AgentConfig"]:
                break
        else:
            if value.description:
                holder["properties"][value.path[-1]]["description"] = value.description
    schema["definitions"] = definitions
    result: dict[str, Any] = _in_draft_7(schema)
    return {"$schema": _DRAFT, "title": "Values of the chart queue-agent", **result}


def _sections(properties: Mapping[str, Any]) -> list[str]:
    """Names of the models of sections that `values.yaml` has in full."""
    names = [value["$ref"].rpartition("/")[2] for value in properties.values() if "$ref" in value]
    return [*(name for name in names if name != "AgentConfig"), "Probe", "Egress"]


def _in_draft_7(value: Any, named: bool = False) -> Any:
    """The same schema; `named` if the keys are names of properties rather than words of schemas."""
    if isinstance(value, list):
        return [_in_draft_7(item) for item in value]
    if not isinstance(value, dict):
        return value
    if named:
        return {name: _in_draft_7(inner) for name, inner in value.items()}
    if value.get("format") == "duration":
        return _DURATION
    result: dict[str, Any] = {}
    for key, inner in value.items():
        if key in _UNKNOWN_TO_DRAFT_7:
            continue
        result[key] = (
            " ".join(inner.split())
            if key == "description"
            else _in_draft_7(inner, named=key in ("properties", "definitions"))
        )
    if "gt" in value:
        result["anyOf"] = [
            {**choice, "exclusiveMinimum": 0} if choice.get("type") == "number" else choice
            for choice in result["anyOf"]
        ]
    # Beside a reference draft 7 sees nothing else.
    if "$ref" in result and len(result) > 1:
        result["allOf"] = [{"$ref": result.pop("$ref")}]
    return result
