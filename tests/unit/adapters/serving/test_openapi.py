"""The OpenAPI document says what the interface has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from queue_agent.adapters.serving.openapi import OPERATIONS, make_document
from queue_agent.adapters.serving.openapi_access import ACCESS_OPERATIONS

ALL = (*OPERATIONS, *ACCESS_OPERATIONS)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from ([value["$ref"]] if "$ref" in value else [])
        for one in value.values():
            yield from references(one)
    elif isinstance(value, list):
        for one in value:
            yield from references(one)


def test_every_endpoint_is_in_it_with_the_parameters_of_its_path() -> None:
    document = json.loads(json.dumps(make_document(ALL)))
    assert sum(len(methods) for methods in document["paths"].values()) == len(ALL)
    for path, methods in document["paths"].items():
        for operation in methods.values():
            named = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path)), path


def test_what_it_refers_to_is_there() -> None:
    document = make_document(ALL)
    schemas = document["components"]["schemas"]
    assert {one.removeprefix("#/components/schemas/") for one in references(document)} <= schemas.keys()


def test_generated_clients_can_name_their_methods() -> None:
    assert len({one.name for one in ALL}) == len(ALL)
