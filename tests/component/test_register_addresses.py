"""`queue-agent register-addresses` against local clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from queue_agent.adapters.cluster.yt_cluster import YtCluster
from queue_agent.cli.register_addresses import register_addresses
from queue_agent.config.agent import AgentConfig
from queue_agent.errors import ConfigError, ObjectNotFound
from yt_local.runner import LocalClusters

ADDRESSES = ["qa-0.qa:9030", "qa-1.qa:9030"]


@pytest.fixture
async def config() -> AsyncIterator[AgentConfig]:
    async with LocalClusters({"pythia": 0, "hume": 0}) as clusters:
        yield trial(clusters)


def trial(clusters: LocalClusters) -> AgentConfig:
    proxies = {name: {"proxy": address} for name, address in clusters.addresses.items()}
    return AgentConfig.model_validate({"stage": "trial", "clusters": proxies, "state": {"cluster": "pythia"}})


async def stages(config: AgentConfig) -> dict[str, Any]:
    """What a master finds in all places it looks at."""
    async with AsyncExitStack() as stack:
        found = {}
        for name, settings in config.clusters.items():
            cluster = await stack.enter_async_context(YtCluster(name, settings))
            for place in (f"//sys/clusters/{name}", "//sys/@cluster_connection"):
                section = (await cluster.get(place)).get("queue_agent", {})
                found[f"{name} {place}"] = section.get("stages", {})
        return found


async def test_masters_and_proxies_of_all_clusters_are_told_once(config: AgentConfig) -> None:
    before = await stages(config)
    told: list[str] = []
    await register_addresses(config, ADDRESSES, (), False, told.append)
    assert len(told) == 4
    for place, found in (await stages(config)).items():
        assert list(found["trial"]["addresses"]) == ADDRESSES, place
        assert {name: stage for name, stage in found.items() if name != "trial"} == before[place]
    told.clear()
    await register_addresses(config, ADDRESSES, (), False, told.append)
    assert [line.endswith("knows them already") for line in told] == [True] * 4


async def test_other_stages_and_clusters_stay_as_they_are(config: AgentConfig) -> None:
    await register_addresses(config, ["old:9030"], (), False, lambda line: None)
    other = config.model_copy(update={"stage": "other"})
    await register_addresses(other, ADDRESSES, ["hume"], False, lambda line: None)
    found = await stages(config)
    assert list(found["hume //sys/clusters/hume"]["trial"]["addresses"]) == ["old:9030"]
    assert list(found["hume //sys/clusters/hume"]["other"]["addresses"]) == ADDRESSES
    assert "other" not in found["pythia //sys/clusters/pythia"]


async def test_a_dry_run_writes_nothing(config: AgentConfig) -> None:
    before = await stages(config)
    told: list[str] = []
    await register_addresses(config, ADDRESSES, (), True, told.append)
    assert len(told) == 4
    assert await stages(config) == before


async def test_a_cluster_that_is_not_configured_is_refused_before_anything_is_written(config: AgentConfig) -> None:
    before = await stages(config)
    with pytest.raises(ConfigError, match="delphi"):
        await register_addresses(config, ADDRESSES, ["pythia", "delphi"], False, lambda line: None)
    assert await stages(config) == before


async def test_a_cluster_that_does_not_know_itself_is_an_error_and_the_others_are_told(config: AgentConfig) -> None:
    async with YtCluster("hume", config.clusters["hume"]) as hume:
        await hume.execute("remove", {"path": "//sys/clusters/hume", "recursive": True})
    told: list[str] = []
    with pytest.raises(ObjectNotFound, match="trial in hume: //sys/clusters/hume: the document does not exist"):
        await register_addresses(config, ADDRESSES, ["hume", "pythia"], False, told.append)
    assert len(told) == 3
    async with YtCluster("pythia", config.clusters["pythia"]) as pythia:
        section = (await pythia.get("//sys/clusters/pythia"))["queue_agent"]
    assert list(section["stages"]["trial"]["addresses"]) == ADDRESSES


async def test_a_misspelt_cluster_is_guessed(config: AgentConfig) -> None:
    with pytest.raises(ConfigError, match=r"phytia \(did you mean pythia\?\)"):
        await register_addresses(config, ADDRESSES, ["phytia"], False, lambda line: None)


async def test_clusters_know_their_agents_after_a_restart(tmp_path: Path) -> None:
    names = {"pythia": 0, "hume": 0}
    async with LocalClusters(names, data_dir=tmp_path) as clusters:
        await register_addresses(trial(clusters), ADDRESSES, (), False, lambda line: None)
    async with LocalClusters(names, data_dir=tmp_path) as clusters:
        for place, found in (await stages(trial(clusters))).items():
            assert list(found["trial"]["addresses"]) == ADDRESSES, place
