"""Runs the service: `python -m examples.comment_service`, with settings from the environment."""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from pathlib import Path

import yt.logger
import yt.wrapper
from aiohttp import web
from pydantic import ValidationError

from examples.comment_service.settings import Settings
from examples.comment_service.web import build_app

LOG_FORMAT = "%(asctime)s %(levelname)s %(threadName)s %(message)s"


def main() -> None:
    """Serve until SIGINT or SIGTERM."""
    try:
        settings = Settings.from_environment(os.environ)
    except ValidationError as error:
        for item in error.errors():
            print(f"{'_'.join(map(str, item['loc'])).upper()}: {item['msg']}", file=sys.stderr)
        sys.exit(2)
    settings.logs.mkdir(parents=True, exist_ok=True)
    _log_to(logging.getLogger("comment_service"), settings.logs / "comment_service.log", logging.INFO)
    _log_to(yt.logger.LOGGER, settings.logs / "driver.log", logging.DEBUG)
    print(f"logs: {settings.logs}", flush=True)
    app = build_app(
        settings,
        # Of one host and port there is one process at a time; its successor takes its producer sessions over.
        instance=f"{socket.gethostname()}:{settings.port or os.getpid()}",
        now=lambda: int(time.clock_gettime(time.CLOCK_REALTIME)),
        new_guid=yt.wrapper.common.generate_uuid,
    )
    web.run_app(app, host=settings.host, port=settings.port, access_log=None)


def _log_to(logger: logging.Logger, path: Path, level: int) -> None:
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter(LOG_FORMAT))
    logger.handlers = [handler]
    logger.setLevel(level)
    logger.propagate = False


if __name__ == "__main__":
    main()
