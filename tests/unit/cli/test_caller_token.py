from __future__ import annotations

from pathlib import Path

import pytest

from queue_agent.cli.caller_token import find_token
from queue_agent.cli.errors import CommandError

HERE = "http://127.0.0.1:10030"
ELSEWHERE = "http://agent-1:10030"
SAFE = "https://agent-1:10030"


def test_a_token_is_found_where_the_yt_command_finds_it(tmp_path: Path) -> None:
    assert find_token(HERE, {}, tmp_path) is None
    (tmp_path / ".yt").mkdir()
    (tmp_path / ".yt" / "token").write_text("of-the-home\n")
    assert find_token(HERE, {}, tmp_path) == "of-the-home"
    (tmp_path / "other").write_text("of-a-file")
    variables = {"YT_TOKEN_PATH": str(tmp_path / "other")}
    assert find_token(HERE, variables, tmp_path) == "of-a-file"
    assert find_token(HERE, {**variables, "YT_TOKEN": "of-a-variable"}, tmp_path) == "of-a-variable"


@pytest.mark.parametrize("agent", ["http://localhost:1", "http://[::1]:1", "http://127.9.9.9:1", "https://agent-1"])
def test_a_token_for_clusters_goes_where_nobody_reads_it_on_the_way(agent: str, tmp_path: Path) -> None:
    assert find_token(agent, {"YT_TOKEN": "secret"}, tmp_path) == "secret"


@pytest.mark.parametrize("agent", ["http://agent-1:10030", "http://10.0.0.1", "http://localhost.evil.example"])
def test_it_does_not_go_elsewhere_without_https(agent: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="QUEUE_AGENT_TOKEN") as refused:
        find_token(agent, {"YT_TOKEN": "secret"}, tmp_path)
    assert "secret" not in str(refused.value)
    assert find_token(agent, {}, tmp_path) is None


def test_a_token_for_agents_goes_wherever_the_caller_sends_it(tmp_path: Path) -> None:
    assert find_token(ELSEWHERE, {"QUEUE_AGENT_TOKEN": "mine", "YT_TOKEN": "secret"}, tmp_path) == "mine"
    assert find_token(SAFE, {"QUEUE_AGENT_TOKEN": "", "YT_TOKEN": "secret"}, tmp_path) == "secret"


def test_a_file_that_cannot_be_read_is_named_without_its_content(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xffsecret")
    for path in (tmp_path, tmp_path / "bytes"):
        with pytest.raises(CommandError, match="cannot be read") as refused:
            find_token(HERE, {"YT_TOKEN_PATH": str(path)}, tmp_path)
        assert "secret" not in str(refused.value)
