"""`python -m queue_agent` is the command `queue-agent`."""

from __future__ import annotations

from queue_agent.cli.main import main

if __name__ == "__main__":
    main()
