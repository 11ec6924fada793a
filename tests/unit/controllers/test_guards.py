"""No guard can be forgotten: none has a default."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.controllers.exports.task import run_export_task
from queue_agent.controllers.state.discovery import Synchronizer
from queue_agent.controllers.status.context import ControllerContext
from queue_agent.controllers.trimming.confirmation import TrimConfirmer
from queue_agent.core.trimming.confirmation import FreshLook, confirm_plan
from queue_agent.ports.cluster import Cluster


@pytest.mark.parametrize("kind", [ControllerContext, FreshLook])
def test_whoever_makes_one_says_all_that_it_rests_on(kind: Any) -> None:
    fields = dataclasses.fields(kind)
    missing = dataclasses.MISSING
    assert [one.name for one in fields if (one.default, one.default_factory) != (missing, missing)] == []


@pytest.mark.parametrize(
    ("function", "guard"),
    [
        (Cluster.trim_rows, "permit"),
        (YtCluster.trim_rows, "permit"),
        (run_export_task, "permit"),
        (Synchronizer.__init__, "may_write"),
        (TrimConfirmer.confirm, "replica_row"),
        (confirm_plan, "replica_row"),
    ],
)
def test_whoever_acts_passes_what_permits_it(function: Callable[..., Any], guard: str) -> None:
    assert inspect.signature(function).parameters[guard].default is inspect.Parameter.empty
