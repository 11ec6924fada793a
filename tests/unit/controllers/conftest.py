"""What tests of controllers share."""

from __future__ import annotations

import pytest

from tests.unit.controllers.agent_world import World


@pytest.fixture
async def world() -> World:
    world = World()
    await world.synchronize()
    return world
