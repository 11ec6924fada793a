"""What the driver's surroundings say of clusters; executors may have others, so it goes with every job."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from yt.wrapper import YtClient
from yt.wrapper.errors import YtTokenError
from yt.wrapper.http_helpers import get_token

from queue_agent.spark.errors import OptionError

TOKEN_SETTING: Final = "spark.hadoop.yt.token"

_TOKENS: Final = ("YT_SECURE_VAULT_YT_TOKEN", "YT_TOKEN")
_VARIABLES: Final = ("YT_PROXY", *_TOKENS, "YT_PROXY_URL_ALIASING_CONFIG")


def driver_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Variables that count; without any token among them, or among the settings, `YT_TOKEN` is that of the token file.

    Args:
        settings: of the session.
    """
    variables = {name: os.environ[name] for name in _VARIABLES if os.environ.get(name)}
    if not settings.get(TOKEN_SETTING) and not any(name in variables for name in _TOKENS):
        token = find_token(os.environ.get("YT_TOKEN_PATH"))
        if token is not None:
            variables["YT_TOKEN"] = token
    return variables


def find_token(path: str | None) -> str | None:
    """The token in a file, by default in `~/.yt/token`, as ytsaurus-client reads it; None if there is no such file.

    Raises:
        OptionError: the file cannot be read, or holds no token.
    """
    try:
        found: str | None = get_token(client=YtClient("nowhere", config={"token_path": path}))
    except (OSError, UnicodeDecodeError, YtTokenError) as error:
        # Of the token itself the message must not tell.
        raise OptionError(f"the token file {path or '~/.yt/token'} cannot be used: {type(error).__name__}") from None
    return found
