"""Values nested as deeply as can be: what is kept can be read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from yt_local.calls.command import Body
from yt_local.formats.formats import parse_format
from yt_local.runner import LocalClusters
from yt_local.security.permissions import UNLIMITED
from yt_local.session import Session
from yt_wire.error import YtError


@pytest.mark.parametrize("path", ["//tmp/document", "//tmp/@attribute"])
@pytest.mark.parametrize("format_name", ["yson", "json"])
async def test_a_value_that_is_taken_is_there_after_a_restart(tmp_path: Path, format_name: str, path: str) -> None:
    kept = 0
    async with LocalClusters({"a": 0}, data_dir=tmp_path) as clusters:
        cluster = clusters.cluster("a")
        await cluster.execute(
            Session(UNLIMITED), cluster.command("create"), {"type": "document", "path": "//tmp/document"}, Body()
        )
        for depth in range(200, 300):
            try:
                value = parse_format(format_name).read_node(b"[" * depth + b"]" * depth)
                await cluster.execute(Session(UNLIMITED), cluster.command("set"), {"path": path}, Body(value=value))
            except YtError as error:
                assert "Depth limit exceeded" in error.message
            else:
                kept = depth
        assert 240 < kept < 256
    async with LocalClusters({"a": 0}, data_dir=tmp_path) as clusters:
        cluster = clusters.cluster("a")
        answer = await cluster.execute(
            Session(UNLIMITED), cluster.command("get"), {"path": path, "return_only_value": True}, Body()
        )
        assert parse_format("yson").write_node(answer).count(b"[") == kept
