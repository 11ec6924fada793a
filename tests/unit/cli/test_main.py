"""Which commands there are, what is said of them, and what is not imported for that."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from queue_agent.cli.main import COMMANDS, Entry, LaterCommand, application


def entries() -> Iterator[tuple[str, Entry]]:
    for name, entry in COMMANDS.items():
        if isinstance(entry, Entry):
            yield name, entry
        else:
            yield from ((f"{name} {member}", one) for member, one in entry[1].items())


@pytest.mark.parametrize(("name", "entry"), list(entries()), ids=[name for name, _ in entries()])
def test_a_list_of_commands_says_what_the_command_itself_says(name: str, entry: Entry) -> None:
    real = LaterCommand(name, entry).real
    first = inspect.cleandoc(real.help).split("\n\n")[0]
    assert " ".join(first.split()).startswith(entry.help.rstrip("."))


@pytest.mark.parametrize("name", [name for name, _ in entries()])
def test_each_command_explains_itself(name: str) -> None:
    result = CliRunner().invoke(application, [*name.split(), "--help"])
    assert result.exit_code == 0
    assert name.split()[-1] in result.output


def test_a_command_that_is_none_is_refused() -> None:
    result = CliRunner().invoke(application, ["fly"])
    assert (result.exit_code, "No such command" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["--help"], ("aiohttp", "yt", "google.protobuf", "pyspark", "pydantic", "rich", "asyncio", "yaml")),
        (["health", "--agent", "http://127.0.0.1:1"], ("aiohttp", "yt", "google.protobuf", "pyspark", "rich")),
    ],
)
def test_what_is_asked_for_often_imports_little(arguments: list[str], absent: tuple[str, ...]) -> None:
    program = (
        "import sys\nfrom queue_agent.cli.main import application\n"
        f"try:\n    application({arguments!r}, prog_name='queue-agent')\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {absent!r} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("job", ["export", "downsample", "report"])
def test_jobs_of_pyspark_say_what_is_missing(job: str) -> None:
    program = (
        "import sys\nsys.modules['pyspark'] = None\nfrom queue_agent.cli.main import application\n"
        f"application(['spark', {job!r}, '--help'], prog_name='queue-agent')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (
        2,
        "jobs of PySpark need pyspark: install yt-queue-agent with its extra `spark`\n",
    )
