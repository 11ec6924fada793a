"""When passes of each kind happen, by the configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Self

from queue_agent.config.agent import AgentConfig
from queue_agent.controllers.passes.pass_loop import Schedule

_SHARDING_SLOWDOWN: Final = 2
"""Who leads is to be known soon after a cluster has recovered."""


@dataclass(frozen=True, slots=True)
class Schedules:
    """When passes happen, of those kinds that a document on the cluster can change, and of looking at it."""

    agent: Schedule
    sharding: Schedule
    controller: Schedule
    synchronizer: Schedule
    dynamic_config: Schedule

    @classmethod
    def of(cls, config: AgentConfig) -> Self:
        """As a configuration has it."""
        agent, sharding, controller, synchronizer = (
            Schedule(section.pass_period, section.pass_timeout)
            for section in (
                config.queue_agent,
                config.queue_agent_sharding_manager,
                config.queue_agent.controller,
                config.cypress_synchronizer,
            )
        )
        return cls(
            agent=agent,
            sharding=replace(sharding, max_slowdown=_SHARDING_SLOWDOWN),
            controller=controller,
            synchronizer=replace(synchronizer, enable=config.cypress_synchronizer.enable),
            dynamic_config=Schedule(config.dynamic_config_manager.update_period, config.queue_agent.pass_timeout),
        )


class Timetable:
    """The schedules in force.

    Args:
        config: by which they are until `change` is called.
    """

    def __init__(self, config: AgentConfig) -> None:
        self._schedules = Schedules.of(config)

    @property
    def now(self) -> Schedules:
        """As of now."""
        return self._schedules

    def change(self, config: AgentConfig) -> None:
        """Go by another configuration, but for looks at documents: none may leave too little time to be mended."""
        self._schedules = replace(Schedules.of(config), dynamic_config=self._schedules.dynamic_config)
