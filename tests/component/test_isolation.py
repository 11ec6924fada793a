"""A bug that shows at one object stops no other: in each loop there is one object at which its work raises."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

import pytest
from structlog.testing import capture_logs

from queue_agent import isolation
from queue_agent.adapters.cluster import yt_cluster
from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.adapters.metrics import object_page
from queue_agent.adapters.state import state_tables
from queue_agent.app import wiring
from queue_agent.controllers.exports import exports
from queue_agent.controllers.queues.queue_controller import QueueController
from queue_agent.controllers.rounds import agent
from queue_agent.controllers.state.dynamic_config import DynamicConfig
from queue_agent.controllers.status import history
from queue_agent.controllers.status.board import Board
from queue_agent.core.discovery import synchronization
from queue_agent.isolation import Place, contained_errors
from tests.fuzz.odd_world import NAME, odd_world
from yt_local.security.permissions import UNLIMITED

PLACES: Final[Mapping[str, tuple[Place, Any, str]]] = {
    "row": ("state_tables", state_tables, "read_queue"),
    "multi": ("state_tables", state_tables, "is_multi_consumer"),
    "attributes": ("discovery", synchronization, "build_queue_row"),
    "fetch": ("questions", YtCluster, "get_attributes"),
    "write": ("state_tables", state_tables, "write_queue"),
    "error": ("agent", agent, "find_queue_row_error"),
    "controller": ("fleet", wiring, "QueueController"),
    "watch": ("rounds", QueueController, "find_watch"),
    "poll": ("polls", yt_cluster, "poll"),
    "quiet": ("rounds", QueueController, "pass_quietly"),
    "pass": ("pass", QueueController, "do_pass"),
    "finished": ("rounds", QueueController, "pass_finished"),
    "export": ("exports", exports, "parse_exports"),
    "tick": ("exports", exports.ExportManager, "_find_due_tick"),
    "history": ("history", history, "queue_rows"),
    "series": ("metrics", object_page, "queue_series"),
    "node": ("orchid", Board, "queue_node"),
    "overview": ("page", Board, "queue_overview"),
    "document": ("dynamic_config", DynamicConfig, "_put_in_force"),
}
"""By name of the object at which it raises: the loop, and what raises in it."""


def path_of(name: str) -> str:
    return f"//tmp/odd/sick-{name}-"


def sick(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The same, but for one object."""
    bug = type(f"Bug_{name}", (Exception,), {})

    @functools.wraps(original)
    def call(*args: Any, **more: Any) -> Any:
        about = f"{args} {more} {getattr(args[0], '_ref', '') if args else ''} {getattr(args[0], 'state', '')}"
        if path_of(name) in about:
            raise bug
        return original(*args, **more)

    return call


@pytest.mark.slow
async def test_a_bug_in_any_loop_stops_no_other_object(monkeypatch: pytest.MonkeyPatch) -> None:
    before = contained_errors()
    monkeypatch.setattr(isolation, "_told", {})
    async with odd_world() as world:
        for name, (_, owner, attribute) in PLACES.items():
            monkeypatch.setattr(owner, attribute, sick(getattr(owner, attribute), name))
        with capture_logs() as logs:
            async with world.agent() as running:
                await world.judge(running)
                for name in PLACES:
                    config = {
                        "default": {"export_directory": path_of(name), "export_period": 3_600_000},
                    }
                    if name == "multi":
                        world.add_consumer(path_of(name), {}, [])
                    else:
                        world.add_queue(path_of(name), {"static_export_config": config})
                world.clusters.cluster(NAME).cypress.create(UNLIMITED, "//sys/queue_agents/config", "document", {})
                world.set("//sys/queue_agents/config", {"queue_agent": {"unknown": path_of("document")}})
                await world.judge(running)
            world.set(
                "//sys/queue_agents/config", {}
            )  # with one that makes no sense an agent that begins does not trim
            async with world.agent() as running:
                await world.judge(running)
    counts = contained_errors()
    assert {place for place in get_args(Place) if counts[place] == before[place]} == set()
    told = {line["error"] for line in logs if line.get("exc_info")}
    assert told == {f"Bug_{name}()" for name in PLACES}
    tracebacks = [line["place"] for line in logs if line.get("exc_info")]
    assert len(tracebacks) <= 2 * len(PLACES), "each is logged once; one may raise at several lines"
