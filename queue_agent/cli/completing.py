"""What a shell may complete: commands, options, and names that an agent knows.

Somebody waits at a prompt. So this module imports neither the commands nor the library they are made with, which take a
second, but reads what `completions.json` says of them, which `make docs` writes.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from queue_agent.cli.addresses import AGENT_VARIABLE, agent_addresses, keys_path
from queue_agent.cli.caller_token import find_token
from queue_agent.cli.plain import is_plain

_SECONDS: Final = 1.0
_UNAUTHORIZED: Final = 401
_KINDS: Final[Mapping[str, Sequence[str]]] = {
    "QUEUE": ("queues",),
    "CONSUMER": ("consumers",),
    "QUEUE|CONSUMER": ("queues", "consumers"),
}
"""What an agent lists for arguments, by their names in `--help`."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A command line, as far as it has been typed."""

    command: str
    """Path of the command, such as `consumer reset`; empty for `queue-agent` itself."""

    values: Mapping[str, Sequence[str]]
    """Of options that take one."""

    arguments: int
    """Number of arguments before the last word."""

    option: str
    """Option whose value the last word is; empty if it is none."""

    last: str
    """What is to be completed; empty after a space."""


def complete(line: str) -> list[str]:
    """Words that the last word of a line may become, each with a tab and what it means if that is known.

    Args:
        line: up to the cursor, with `queue-agent` as its first word.
    """
    index = json.loads(Path(__file__).with_name("completions.json").read_bytes())
    typed = _read(_split(line)[1:], index)
    entry = index[typed.command]
    if typed.option:
        found: Iterable[str] = _values(entry["options"][typed.option], typed)
    elif typed.last.startswith("-"):
        found = [f"{name}\t{one['help']}" for name, one in entry["options"].items()]
    elif entry["commands"]:
        found = [f"{name}\t{words}" for name, words in entry["commands"].items()]
    elif typed.arguments < len(entry["arguments"]):
        found = _values(entry["arguments"][typed.arguments], typed)
    else:
        found = ()
    return [one for one in found if one.startswith(typed.last)]


def _split(line: str) -> list[str]:
    """Words of a line, the last one as far as it goes."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:  # a quotation that has not ended
        words.append(lexer.token)
        return words
    return [*words, ""] if not line or line[-1].isspace() else words


def _read(words: Sequence[str], index: Mapping[str, Any]) -> Typed:
    command, arguments, option = "", 0, ""
    values: dict[str, list[str]] = {}
    *before, last = words
    for word in before:
        name, equals, value = word.partition("=")
        below = f"{command} {word}".strip()
        if option:
            values.setdefault(option, []).append(word)
            option = ""
        elif takes := index[command]["options"].get(name):
            if equals:
                values.setdefault(name, []).append(value)
            elif takes["value"]:
                option = name
        elif below in index:
            command = below
        else:
            arguments += 1
    return Typed(command, values, arguments, option, last)


def _values(parameter: Mapping[str, Any], typed: Typed) -> Iterable[str]:
    if parameter["choices"]:
        return list(parameter["choices"])
    config = [Path(one) for one in typed.values.get("--config", ())[-1:]]
    if parameter["value"] == "CLUSTER" and config:
        from queue_agent.config.file import load_config

        names: Iterable[str] = load_config(config[0]).clusters
    else:
        agents = typed.values.get("--agent") or ([] if config else os.environ.get(AGENT_VARIABLE, "").split())
        kinds = _KINDS.get(parameter["value"], ())
        names = _ask(agent_addresses(agents, config[0] if config else None), kinds) if kinds else ()
    return sorted(filter(is_plain, names))


def _ask(addresses: Sequence[str], kinds: Sequence[str]) -> set[str]:
    """What the first agent that answers lists."""
    for address in addresses:
        try:
            return {str(name) for kind in kinds for name in _get(address, keys_path(kind))}
        except (OSError, http.client.HTTPException):
            continue
    return set()


def _get(address: str, path: str) -> Any:
    """Document of an agent, with the caller's token if it asks for one."""
    origin = address if "://" in address else f"http://{address}"
    parts = urlsplit(origin)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    headers: dict[str, str] = {}
    while True:
        connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        takes_tokens = answer.getheader("WWW-Authenticate", "").startswith("OAuth")
        asked = answer.status == _UNAUTHORIZED and takes_tokens and not headers
        if asked and (token := find_token(origin, os.environ, Path.home())):
            headers = {"Authorization": f"OAuth {token}"}
            continue
        if answer.status != http.client.OK:
            raise http.client.HTTPException(answer.reason)
        return json.loads(body)


def run(line: str) -> None:
    """Print what completes a line; nothing at all if something fails."""
    try:
        sys.stdout.writelines(f"{one}\n" for one in complete(line))
    except Exception:  # noqa: BLE001 - an error would be written into the line that somebody types
        return
