"""What a run of an export tells while it goes on, and in the end."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

from queue_agent.spark.export.reporting import Bar, Lines, RunSummary, reporter_for
from tests.unit.spark.export_fakes import ExportWorld


def test_a_terminal_gets_a_bar_and_a_log_gets_lines(world: ExportWorld) -> None:
    world.queue.write(0, 8)
    world.exporter().catch_up()
    [manifest] = world.archive().manifests()
    stream = io.StringIO()
    bar = Bar(stream, lambda: 0.0)
    bar.planned(16)
    bar.published(manifest)
    bar.finished()
    assert " 50%  8 of 16 rows" in stream.getvalue()
    lines: list[tuple[str, dict[str, object]]] = []
    reporter = reporter_for(stream, lambda event, **fields: lines.append((event, fields)))
    assert isinstance(reporter, Lines)
    reporter.published(manifest)
    assert (lines[0][0], lines[0][1]["rows"]) == ("batch published", 8)


def test_figures_of_a_run_are_json_and_metrics(tmp_path: Path) -> None:
    summary = replace(RunSummary("alpha/home/queue/v1"), rows=5, succeeded=True)
    assert json.loads(summary.to_json())["rows"] == 5
    summary.write_textfile(tmp_path / "export.prom")
    text = (tmp_path / "export.prom").read_text()
    assert 'queue_export_rows{export="alpha/home/queue/v1"} 5.0' in text
    assert 'queue_export_succeeded{export="alpha/home/queue/v1"} 1.0' in text
