"""Strict schemas of what the chart makes, in files as kubeconform looks for them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml

PATTERN: Final = "{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json"
"""Below the folder, as `-schema-location` wants it."""


def write_schemas(tools: Path, folder: Path, versions: Sequence[str]) -> None:
    """Write schemas of all kinds for versions of Kubernetes.

    Args:
        tools: folder of `deploy/install-tools.sh`.
        folder: where to write.
        versions: such as `1.36.0`.
    """
    custom = [yaml.safe_load(path.read_text()) for path in sorted((tools / "crds").glob("*.yaml"))]
    assert custom, f"no custom resource definitions in {tools / 'crds'}"
    bundled = tools / "python" / "kubernetes_validate" / "kubernetes-json-schema"
    for version in versions:
        target = folder / f"v{version}"
        target.mkdir(parents=True)
        for path in sorted((bundled / f"v{version}-local-strict").glob("*.json")):
            # They are beside each other now, and not on the server they name.
            text = path.read_text().replace('"/api/_definitions.json', '"_definitions.json')
            schema = json.loads(text)
            schema.pop("$id", None)
            (target / path.name).write_text(json.dumps(schema))
        for definition in custom:
            _write_custom(definition["spec"], target)


def _write_custom(spec: dict[str, Any], target: Path) -> None:
    for version in spec["versions"]:
        schema = _strict(version["schema"]["openAPIV3Schema"])
        # Of Kubernetes, which knows these better than the definition.
        schema["properties"]["metadata"] = {
            "$ref": "_definitions.json#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
        }
        kind, group = spec["names"]["kind"].lower(), spec["group"].partition(".")[0]
        (target / f"{kind}-{group}-{version['name']}.json").write_text(json.dumps(schema))


def _strict(schema: Any) -> Any:
    """The same where keys that are not mentioned are refused, as the API server refuses or drops them."""
    if isinstance(schema, list):
        return [_strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _strict(value) for key, value in schema.items()}
    if isinstance(result.get("properties"), dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        result.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        result.pop("type", None)
    return result
