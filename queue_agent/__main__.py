"""The command `queue-agent`, also as `python -m queue_agent`."""

from __future__ import annotations

import os
import signal
import sys

_FIRST_PROCESS = 1
_ENDED_BY_SIGTERM = 128 + signal.SIGTERM


def main() -> None:
    """Run a command.

    The kernel drops signals that the first process of a container does not handle. Services handle SIGTERM once they
    have been imported, which takes seconds; until then nothing has begun, so that the process may just end.
    """
    if os.getpid() == _FIRST_PROCESS:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(_ENDED_BY_SIGTERM))
    if sys.argv[1:] == ["health"]:
        from queue_agent.cli.probe import probe

        if (code := probe()) is not None:
            sys.exit(code)
    if (line := os.environ.get("_QUEUE_AGENT_COMPLETE")) is not None:  # set by the scripts of `completion`
        from queue_agent.cli.completing import run

        run(line)
        return
    from queue_agent.cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
