"""The `yt` command as people type it: commands no other test types, and those that take jobs and are refused."""

from __future__ import annotations

import json

import pytest
from yt.wrapper import YtClient

from tests.conformance.harness import Cli, make_queue, make_sorted


def typed(cli: Cli, line: str, home: str, stdin: bytes = b"") -> str:
    """What a command prints; `~` is the test's directory."""
    done = cli.run(*(word.replace("~", home) for word in line.split()), stdin=stdin)
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout.decode().strip()


def test_the_executable_does_what_is_done_without_it(cli: Cli, home: str) -> None:
    for arguments in (["exists", home], ["list", f"{home}/nothing"]):
        done, by_executable = cli.run(*arguments), cli.run_executable(*arguments)
        assert (done.returncode, done.stdout) == (by_executable.returncode, by_executable.stdout)
        assert (b"Error resolving path" in done.stderr) == (b"Error resolving path" in by_executable.stderr)


def test_a_tree_is_walked_and_changed(cli: Cli, client: YtClient, home: str) -> None:
    client.create("document", f"{home}/a/d", recursive=True)
    assert typed(cli, "exists ~/a/d", home) == "true"
    assert typed(cli, "list ~", home) == "a"
    assert typed(cli, "find ~ --type document", home) == f"{home}/a/d"
    typed(cli, "copy ~/a ~/b", home)
    assert client.get(f"{home}/b/d/@type") == "document"
    typed(cli, "move ~/b ~/c", home)
    typed(cli, "link ~/c ~/l", home)
    typed(cli, "set-attribute ~/c mood good", home)
    assert client.get(f"{home}/l/@mood") == "good"
    typed(cli, "remove-attribute ~/c mood", home)
    assert not client.exists(f"{home}/l/@mood")
    typed(cli, "remove --recursive ~/c", home)
    assert sorted(client.list(home)) == ["a", "l"]
    done = cli.run("remove", f"{home}/c")
    assert done.returncode == 1
    assert b"has no child with key" in done.stderr


def test_tables_are_mounted_divided_and_altered(cli: Cli, client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    for verb, state in (("freeze", "frozen"), ("unfreeze", "mounted"), ("unmount", "unmounted")):
        typed(cli, f"{verb}-table --sync ~/q", home)
        assert client.get(f"{queue}/@tablet_state") == state
    typed(cli, "reshard-table ~/q --tablet-count 3 --sync", home)
    assert client.get(f"{queue}/@tablet_count") == 3
    typed(cli, "mount-table --sync ~/q", home)
    typed(cli, "remount-table ~/q", home)
    infos = typed(cli, "get-tablet-infos ~/q --tablet-indexes 0 2 --format json", home)
    assert [tablet["total_row_count"] for tablet in json.loads(infos)["tablets"]] == [0, 0]
    assert json.loads(typed(cli, "get-tablet-errors ~/q --format json", home))["tablet_errors"] == {}
    client.create("table", f"{home}/t", attributes={"schema": [{"name": "data", "type": "string"}]})
    typed(cli, "alter-table --dynamic ~/t", home)
    assert client.get(f"{home}/t/@dynamic")


def test_rows_are_looked_up_and_deleted(cli: Cli, client: YtClient, home: str) -> None:
    table = make_sorted(client, f"{home}/s")
    client.insert_rows(table, [{"key": 1, "value": "one"}, {"key": 2, "value": "two"}])
    looked_up = typed(cli, "lookup-rows ~/s --format json", home, b'{"key":2}{"key":3}')
    assert [json.loads(line)["value"] for line in looked_up.splitlines()] == ["two"]
    typed(cli, "delete-rows ~/s --format json", home, b'{"key":2}')
    assert [row["key"] for row in client.select_rows(f"key from [{table}]")] == [1]
    read = typed(cli, "read-table ~/s --format json", home)
    assert json.loads(read)["value"] == "one"
    client.create("table", f"{home}/a")
    client.create("table", f"{home}/b")
    client.write_table(f"{home}/a", [{"x": 1}])
    typed(cli, "concatenate --src ~/a --src ~/a --dst ~/b", home)
    assert client.row_count(f"{home}/b") == 2
    assert int(typed(cli, "generate-timestamp", home)) > 2**50


def test_registrations_and_sessions_are_ended(cli: Cli, client: YtClient, home: str) -> None:
    queue = make_queue(client, f"{home}/q")
    client.create("queue_consumer", f"{home}/c")
    client.create("queue_producer", f"{home}/p")
    client.register_queue_consumer(queue, f"{home}/c", vital=False)
    typed(cli, "unregister-queue-consumer ~/q ~/c", home)
    assert client.list_queue_consumer_registrations(queue_path=queue) == []
    client.create_queue_producer_session(f"{home}/p", queue, "s")
    typed(cli, "remove-queue-producer-session --producer-path ~/p --queue-path ~/q --session-id s", home)
    assert list(client.select_rows(f"* from [{home}/p]")) == []


# A cluster that runs jobs carries them out.
@pytest.mark.local_only
@pytest.mark.parametrize(
    "line",
    [
        "merge --src ~/a --dst ~/b",
        "sort --src ~/a --dst ~/b --sort-by x",
        "erase ~/a",
        "map cat --src ~/a --dst ~/b --format json",
    ],
)
def test_what_takes_jobs_is_refused_by_its_name(cli: Cli, client: YtClient, home: str, line: str) -> None:
    client.create("table", f"{home}/a")
    client.create("table", f"{home}/b")
    client.write_table(f"{home}/a", [{"x": 1}])
    done = cli.run(*(word.replace("~", home) for word in line.split()))
    assert done.returncode != 0
    assert b"The local cluster runs no operations" in done.stderr
    assert client.row_count(f"{home}/a") == 1
    assert client.row_count(f"{home}/b") == 0
