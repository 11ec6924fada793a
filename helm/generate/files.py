"""Makes `values.schema.json` and the README's table of the chart: `python -m helm.generate.files`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from helm.generate.commented_values import described_values
from helm.generate.readme import build_readme
from helm.generate.schema import build_schema

CHART: Final = Path(__file__).parent.parent / "queue-agent"


def files() -> Mapping[str, str]:
    """Content of every file that is generated, by its name in the chart."""
    values = list(described_values((CHART / "values.yaml").read_text()))
    return {
        "values.schema.json": json.dumps(build_schema(values), indent=1) + "\n",
        "README.md": build_readme((CHART / "README.md").read_text(), values),
    }


def write_files() -> None:
    for name, content in files().items():
        (CHART / name).write_text(content)


if __name__ == "__main__":
    write_files()
