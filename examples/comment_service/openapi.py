"""The description of the service for programs, from the models themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import JsonSchemaMode

from examples.comment_service.api_models import ErrorDocument
from examples.comment_service.methods import Method

_REFERENCES: Final = "#/components/schemas/{model}"
_DESCRIPTIONS: Final = {
    200: "Done.",
    201: "Added.",
    400: "The request makes no sense.",
    404: "What it is about is not there.",
    409: "Somebody else has written there at the same time; try again.",
    503: "The cluster does not serve the tables at the moment.",
    524: "The cluster has not answered in time.",
}


def build_openapi(methods: Sequence[Method]) -> dict[str, Any]:
    """An OpenAPI 3.1 document."""
    inputs: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
        ("error", "serialization", TypeAdapter(ErrorDocument))
    ]
    for method in methods:
        inputs.append((method.name, "validation", TypeAdapter(method.parameters)))
        inputs.append((method.name, "serialization", method.answer))
    schemas, definitions = TypeAdapter.json_schemas(inputs, ref_template=_REFERENCES)
    components = definitions["$defs"]
    error = {"application/json": {"schema": schemas["error", "serialization"]}}
    paths: dict[str, Any] = {}
    for method in methods:
        parameters = schemas[method.name, "validation"]
        operation: dict[str, Any] = {
            "operationId": method.name,
            "summary": method.summary,
            "responses": {
                str(method.status): {
                    "description": _DESCRIPTIONS[method.status],
                    "content": {"application/json": {"schema": schemas[method.name, "serialization"]}},
                },
                **{str(code): {"description": _DESCRIPTIONS[code], "content": error} for code in method.failures},
            },
        }
        if method.verb == "POST":
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": parameters}}}
        else:
            model = components.pop(method.parameters.__name__)
            operation["parameters"] = [
                {"name": name, "in": "query", "required": name in model.get("required", ()), "schema": schema}
                for name, schema in model["properties"].items()
            ]
        paths[method.path] = {method.verb.lower(): operation}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Comments", "version": "1", "description": "Trees of comments in dynamic tables."},
        "paths": paths,
        "components": {"schemas": components},
    }
