"""What the web interface of YTsaurus asks for and how it reads the answers, against an agent that a master asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

import pytest
from yt.wrapper import YtClient, YtError, YtHttpResponseError

from tests.e2e.playground import Playground, connected, eventually

QUEUE: Final = "//tmp/shown"
CONSUMER: Final = "//tmp/shown-consumer"
IDLE: Final = "//tmp/idle-consumer"
GONE: Final = "//tmp/gone-consumer"
KEY: Final = f"pythia:{QUEUE}"
ATTRIBUTES: Final = {
    "dynamic": True,
    "tablet_count": 2,
    "schema": [
        {"name": "data", "type": "string"},
        {"name": "$timestamp", "type": "uint64"},
        {"name": "$cumulative_data_weight", "type": "int64"},
    ],
}
RATES: Final = ("1m", "1h", "1d")


@pytest.fixture(scope="module")
def pythia(playground: Playground) -> Iterator[YtClient]:
    with connected(playground.clusters["pythia"]) as client:
        yield client


@pytest.fixture(scope="module")
def hume(playground: Playground, pythia: YtClient) -> Iterator[YtClient]:
    """There is a queue whose second tablet is unmounted, and consumers: one that reads, one that does not, one gone."""
    with connected(playground.clusters["hume"]) as client:
        pythia.create("table", QUEUE, attributes=ATTRIBUTES)
        pythia.mount_table(QUEUE, first_tablet_index=0, last_tablet_index=0)
        pythia.insert_rows(QUEUE, [{"data": "x", "$tablet_index": 0}] * 5)
        for path in (CONSUMER, IDLE, GONE):
            client.create("queue_consumer", path)
            pythia.register_queue_consumer(QUEUE, f"<cluster=hume>{path}", vital=path == CONSUMER)
        client.advance_queue_consumer(CONSUMER, f"<cluster=pythia>{QUEUE}", 0, 0, 2)
        client.remove(GONE)
        yield client


def soon(read: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    """What is read, once it is as it should be."""

    def check() -> Any:
        try:
            value = read()
        except YtError as error:
            raise AssertionError(str(error)) from error
        assert good(value), value
        return value

    return eventually(check)


def escaped(key: str) -> str:
    return key.replace("/", "\\/")


def is_instant(value: Any) -> bool:
    return value is None or datetime.fromisoformat(value).utcoffset() is not None


def has_rates(value: Any) -> bool:
    return all(isinstance(value[window], float) for window in RATES)


def test_the_tab_of_a_queue_is_not_replaced_by_an_error_when_a_tablet_fails(pythia: YtClient, hume: YtClient) -> None:
    status = soon(lambda: pythia.get(f"{QUEUE}/@queue_status"), lambda value: len(value.get("registrations", ())) == 3)
    assert "error" not in status
    assert (status["family"], status["partition_count"], dict(status["alerts"])) == ("ordered_dynamic_table", 2, {})
    assert has_rates(status["write_row_count_rate"])
    assert has_rates(status["write_data_weight_rate"])


def test_registrations_have_a_red_badge_where_something_is_wrong_and_nowhere_else(
    pythia: YtClient, hume: YtClient
) -> None:
    def badges() -> dict[str, str]:
        registrations = pythia.get(f"{QUEUE}/@queue_status/registrations")
        return {one["consumer"]: one["error"]["message"] for one in registrations if "error" in one}

    found = soon(badges, lambda value: list(value) == [f"hume:{GONE}"])
    assert "does not exist" in found[f"hume:{GONE}"]


def test_every_partition_stays_visible_under_the_filters_of_its_list(pythia: YtClient, hume: YtClient) -> None:
    partitions = soon(lambda: pythia.get(f"{QUEUE}/@queue_partitions"), lambda value: "upper_row_index" in value[0])
    for partition in partitions:
        assert isinstance(partition["meta"]["host"], str)
        assert isinstance(partition["meta"]["cell_id"], str)
    read, failed = partitions
    assert failed["error"]["message"]
    assert (read["upper_row_index"], read["available_row_count"] + read["lower_row_index"]) == (5, 5)
    assert isinstance(read["commit_idle_time"], int)
    assert is_instant(read["last_row_commit_time"])
    assert has_rates(read["write_row_count_rate"])


def test_the_tab_of_a_consumer_finds_its_queue_by_the_key_in_its_registrations(
    pythia: YtClient, hume: YtClient
) -> None:
    status = soon(
        lambda: hume.get(f"{CONSUMER}/@queue_consumer_status"),
        lambda value: "partition_count" in value.get("queues", {}).get(KEY, {}),
    )
    [registration] = status["registrations"]
    assert (registration["queue"], registration["consumer"], registration["vital"]) == (KEY, f"hume:{CONSUMER}", True)
    assert registration["queue"].partition(":")[::2] == ("pythia", QUEUE)
    assert has_rates(status["queues"][KEY]["read_row_count_rate"])
    partitions = hume.get(f"{CONSUMER}/@queue_consumer_partitions/{escaped(registration['queue'])}")
    read, failed = partitions
    assert (read["next_row_index"], read["unread_row_count"], failed["next_row_index"]) == (2, 3, 0)
    assert isinstance(read["processing_lag"], int)
    assert is_instant(read["next_row_commit_time"])
    assert failed["error"]["message"]


def test_what_is_not_mapped_yet_has_the_code_the_interface_is_patient_with(pythia: YtClient, hume: YtClient) -> None:
    pythia.create("table", "//tmp/unknown", attributes={**ATTRIBUTES, "queue_agent_stage": "production"})
    try:
        status = pythia.get("//tmp/unknown/@queue_status")
    except YtHttpResponseError as error:
        assert error.contains_code(3105)
    else:  # it has been found already
        assert "queue_agent_host" in status or status["error"]["code"] == 3105


def test_the_page_of_the_system_finds_every_agent_and_which_of_them_is_active(
    pythia: YtClient, hume: YtClient, playground: Playground
) -> None:
    attributes = ["annotations", "maintenance", "maintenance_message"]
    instances = pythia.list("//sys/queue_agents/instances", attributes=attributes)
    assert [str(one) for one in instances] == [playground.rpc_address]
    node = f"//sys/queue_agents/instances/{playground.rpc_address}"
    assert soon(lambda: pythia.get(f"{node}/orchid/cypress_synchronizer/active"), bool)
    pythia.set(f"{node}/@maintenance", True)
    assert pythia.list("//sys/queue_agents/instances", attributes=attributes)[0].attributes["maintenance"]
