"""The dialogs of the stock web UI, carried through as hands do, and what the cluster has become by them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

from yt.wrapper import YtClient, YtError

from tests.e2e.playground import eventually
from tests.ui.window import Window

DIRECTORY: Final = "//home/demo/dialogs"
QUEUE: Final = f"{DIRECTORY}/queue"
CONSUMER: Final = f"{DIRECTORY}/made-by-hand"
READY: Final = f"{DIRECTORY}/ready"
EXPORTS: Final = f"{DIRECTORY}/exports"
USER: Final = "clara"

_SCHEMA: Final = [
    {"name": "data", "type": "string"},
    {"name": "$timestamp", "type": "uint64"},
    {"name": "$cumulative_data_weight", "type": "int64"},
]

Dialog = Callable[[Window, YtClient], Awaitable[None]]


async def carry_through(window: Window, client: YtClient, out: Path) -> dict[str, str]:
    """Go through all dialogs, one after the other.

    Args:
        window: of the browser.
        client: of the cluster behind the UI.
        out: directory for a picture of what a dialog that failed has left.

    Returns:
        What went wrong, by the name of the dialog.
    """
    _prepare(client)
    failed: dict[str, str] = {}
    for dialog in DIALOGS:
        name = dialog.__name__
        try:
            await dialog(window, client)
        except AssertionError as error:
            await window.browser.screenshot(out / f"dialog-{name}.png")
            failed[name] = f"{error} | {await window.said()}"
            print(f"FAIL dialog {name}: {failed[name]}", flush=True)
        else:
            print(f"ok   dialog {name}", flush=True)
    return failed


async def create_directory(window: Window, client: YtClient) -> None:
    path = f"{DIRECTORY}/new directory"
    await window.open(DIRECTORY, "content")
    await window.press("Create object")
    await window.press("Directory")
    await window.fill(".path-editor", path)
    await window.confirm()

    _equal(client.get(f"{path}/@type"), "map_node")


async def create_consumer_and_register_it(window: Window, client: YtClient) -> None:
    await window.open_queue(QUEUE, "consumers")
    await window.press("Create consumer")
    await window.fill_path(_field("consumerPath"), CONSUMER)
    await window.wait_until_valid()
    await window.switch("register")
    await window.switch("vital")
    await window.confirm()

    _equal(client.get(f"{CONSUMER}/@treat_as_queue_consumer"), True)
    _equal(client.get(f"{CONSUMER}/@schema/0/name"), "queue_cluster")
    _equal(_registrations(client), {CONSUMER: True})


async def register_consumer(window: Window, client: YtClient) -> None:
    await window.open_queue(QUEUE, "consumers")
    await window.press("Register consumer")
    await window.fill(_field("consumerPath"), READY)
    await window.confirm()

    _equal(_registrations(client), {CONSUMER: True, READY: False})


async def unregister_consumer(window: Window, client: YtClient) -> None:
    _await_agent(client, f"{QUEUE}/@queue_status/registrations", lambda found: len(found) == 2)
    await window.open_queue(QUEUE, "consumers")
    await window.click_in_row(READY, "button")
    await window.confirm()

    _equal(_registrations(client), {CONSUMER: True})


async def create_export(window: Window, client: YtClient) -> None:
    await window.open_queue(QUEUE, "exports")
    await window.press("Create export")
    await window.fill(_field("export_name"), "hourly")
    await window.fill_path(_field("export_directory"), EXPORTS)
    await window.fill(_field("export_period"), "1h")
    await window.fill(_field("export_ttl"), "1d")
    await window.fill(_field("output_table_name_pattern"), "%UNIX_TS")
    await window.switch("use_upper_bound_for_table_names")
    await window.confirm()

    _equal(_exports(client).keys(), {"hourly"})
    export = _exports(client)["hourly"]
    _equal(export["export_directory"], EXPORTS)
    _equal(export["export_period"], 3_600_000)
    _equal(export["export_ttl"], 86_400_000)
    _equal(export["output_table_name_pattern"], "%UNIX_TS")
    _equal(export["use_upper_bound_for_table_names"], True)


async def edit_export(window: Window, client: YtClient) -> None:
    await window.open_queue(QUEUE, "exports")
    await window.click_in_row("hourly", "[data-qa=edit-export]")
    await window.fill(_field("export_period"), "2h")
    await window.confirm()

    _equal(_exports(client)["hourly"]["export_period"], 7_200_000)
    _equal(_exports(client)["hourly"]["export_directory"], EXPORTS)


async def delete_export(window: Window, client: YtClient) -> None:
    # The UI reads it first, and deletes nothing if the agent has not exported yet.
    _await_agent(client, f"{EXPORTS}/@queue_static_export_progress", lambda _: True)
    await window.open_queue(QUEUE, "exports")
    await window.click_in_row("hourly", "button:not([data-qa=edit-export])")
    await window.confirm()

    _equal(_exports(client), {})


async def unmount(window: Window, client: YtClient) -> None:
    await window.open(QUEUE, "content")
    await window.press("Unmount")
    await window.confirm()

    _equal(client.get(f"{QUEUE}/@tablet_state"), "unmounted")


async def mount(window: Window, client: YtClient) -> None:
    await window.open(QUEUE, "content")
    await window.press("Mount")
    await window.confirm()

    _equal(client.get(f"{QUEUE}/@tablet_state"), "mounted")


async def add_acl(window: Window, client: YtClient) -> None:
    await window.open(QUEUE, "acl")
    await window.press("Add ACL")
    await window.press("Register queue consumer")
    await window.choose(_field("subjects"), USER)
    await window.confirm()

    [entry] = client.get(f"{QUEUE}/@acl")
    _equal(entry["action"], "allow")
    _equal(entry["subjects"], [USER])
    _equal(entry["permissions"], ["register_queue_consumer"])
    _equal(client.check_permission(USER, "register_queue_consumer", QUEUE)["action"], "allow")


async def delete_acl(window: Window, client: YtClient) -> None:
    await window.open(QUEUE, "acl")
    await window.click_in_row(USER, "button")
    await window.press("Yes, I'm sure")
    await window.confirm("Delete")

    _equal(client.get(f"{QUEUE}/@acl"), [])
    _equal(client.check_permission(USER, "register_queue_consumer", QUEUE)["action"], "deny")


DIALOGS: Final[Sequence[Dialog]] = [
    create_directory,
    create_consumer_and_register_it,
    register_consumer,
    unregister_consumer,
    create_export,
    edit_export,
    delete_export,
    unmount,
    mount,
    add_acl,
    delete_acl,
]
"""In this order: each finds what those before it have left."""


def _prepare(client: YtClient) -> None:
    """What the dialogs begin with, whatever an earlier run has left."""
    for consumer in _registrations(client):
        client.unregister_queue_consumer(QUEUE, consumer)
    client.remove(DIRECTORY, recursive=True, force=True)
    client.create("table", QUEUE, recursive=True, attributes={"dynamic": True, "schema": _SCHEMA})
    # Or the agent may find the export before it is edited and deleted, and complain.
    destination = {"originating_queue_id": client.get(f"{QUEUE}/@id")}
    client.create("map_node", EXPORTS, attributes={"queue_static_export_destination": destination})
    client.mount_table(QUEUE, sync=True)
    client.create("queue_consumer", READY)
    client.create("user", attributes={"name": USER}, ignore_existing=True)
    _await_agent(client, f"{QUEUE}/@queue_status", lambda status: "error" not in status)


def _await_agent(client: YtClient, path: str, holds: Callable[[Any], bool]) -> None:
    def check() -> None:
        try:
            found = client.get(path)
        except YtError as error:
            raise AssertionError(f"{path}: {error}") from error
        assert holds(found), f"{path} is {found}"

    eventually(check)


def _registrations(client: YtClient) -> dict[str, bool]:
    """Vital or not, by consumer."""
    found = client.list_queue_consumer_registrations(queue_path=QUEUE)
    return {str(one["consumer_path"]): bool(one["vital"]) for one in found}


def _exports(client: YtClient) -> dict[str, Any]:
    return dict(client.get(f"{QUEUE}/@").get("static_export_config", {}))


def _equal(found: Any, expected: Any) -> None:
    assert found == expected, f"expected {expected!r}, found {found!r}"


def _field(name: str) -> str:
    return f'.df-dialog__field-group:has(> label[for="{name}"])'
