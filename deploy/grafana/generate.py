"""Writes the dashboards for Grafana into `dashboards/`: `python -m deploy.grafana.generate`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from queue_agent.dashboards.grafana import DASHBOARDS
from queue_agent.dashboards.panels import grafana_json

FOLDER: Final = Path(__file__).parent / "dashboards"


def files() -> Mapping[str, str]:
    """Content of every file, by its name."""
    return {
        f"{name}.json": json.dumps(grafana_json(dashboard), indent=2, ensure_ascii=False) + "\n"
        for name, dashboard in DASHBOARDS.items()
    }


if __name__ == "__main__":
    for name, content in files().items():
        (FOLDER / name).write_text(content)
