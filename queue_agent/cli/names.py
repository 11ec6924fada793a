"""Names of queues, consumers, clusters and agents: guessed where they are misspelt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

from queue_agent.cli.addresses import keys_path
from queue_agent.cli.agent_api import AgentApi
from queue_agent.cli.errors import CommandError
from queue_agent.cli.plain import LONGEST_NAME, is_plain

_PROMPT_SECONDS: Final = 1.0
"""Somebody waits at a prompt, or for an error message."""

_LIKENESS: Final = 0.8
"""Of 1. Two names in one folder are alike by much, for most of their characters are the folder's."""

_LENGTHS_APART: Final = 4

KINDS: Final = ("queues", "consumers")


def did_you_mean(typed: str, known: Iterable[str]) -> str:
    """Known name that a misspelt one resembles most, as the end of a message; empty if there is none.

    Names that would change what a terminal shows are left out.
    """
    near = {one for one in known if abs(len(one) - len(typed)) <= _LENGTHS_APART and is_plain(one)}
    if len(typed) > LONGEST_NAME:
        return ""
    guesses = get_close_matches(typed, sorted(near), 1, _LIKENESS)
    return f" (did you mean {guesses[0]}?)" if guesses else ""


async def fetch_names(addresses: Sequence[str], kinds: Sequence[str] = KINDS) -> Sequence[str]:
    """References of queues and consumers of the stages of some agents, sorted.

    Args:
        addresses: of agents.
        kinds: `queues`, `consumers` or both.

    Raises:
        CommandError: none has answered within a second.
    """
    for address in addresses:
        try:
            async with asyncio.timeout(_PROMPT_SECONDS), AgentApi(address, _PROMPT_SECONDS) as api:
                return sorted({str(name) for kind in kinds for name in await api.get(keys_path(kind))})
        except TimeoutError:
            continue
    raise CommandError(f"no answer in {_PROMPT_SECONDS:g} s from {' or '.join(addresses)}")


async def guess(typed: object, addresses: Sequence[str], kinds: Sequence[str] = KINDS) -> str:
    """`did_you_mean` of what agents know; empty if they do not tell at once."""
    try:
        return did_you_mean(str(typed), await fetch_names(addresses, kinds))
    except CommandError:
        return ""
