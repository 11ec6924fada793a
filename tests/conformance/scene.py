"""A queue with its consumer and producer, which requests in error must leave as they were."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from yt.wrapper import YtClient

from tests.conformance.harness import Answer, make_queue, rows_of
from yt_wire import http, yson


@dataclass
class Scene:
    """A queue with rows, a consumer that stands somewhere, a producer with a session: wrong input must harm none."""

    client: YtClient
    home: str
    seen: Any = None
    """All that could have changed, as it was last looked at."""

    @property
    def queue(self) -> str:
        return f"{self.home}/q"

    @property
    def consumer(self) -> str:
        return f"{self.home}/c"

    @property
    def producer(self) -> str:
        return f"{self.home}/p"

    def look(self) -> None:
        tables = [rows_of(self.client, f"* from [{path}]") for path in (self.queue, self.consumer, self.producer)]
        tree = self.client.get(self.home, attributes=["type", "revision", "tablet_state", "user_attributes"])
        registrations = self.client.list_queue_consumer_registrations(queue_path=self.queue)
        self.seen = tables, yson.dumps(tree), yson.dumps(registrations)


@contextmanager
def made_scene(client: YtClient) -> Iterator[Scene]:
    """Make it, and see at the end that it works still."""
    scene = Scene(client, f"//tmp/{uuid.uuid4().hex}")
    client.create("map_node", scene.home)
    make_queue(client, scene.queue)
    client.insert_rows(scene.queue, [{"data": "foo"}, {"data": "bar"}])
    client.create("queue_consumer", scene.consumer)
    client.register_queue_consumer(scene.queue, scene.consumer, vital=True)
    client.advance_queue_consumer(scene.consumer, scene.queue, 0, old_offset=0, new_offset=1, client_side=False)
    client.create("queue_producer", scene.producer)
    client.create_queue_producer_session(scene.producer, scene.queue, "s")
    scene.look()
    yield scene
    client.insert_rows(scene.queue, [{"data": "still works"}])
    assert len(rows_of(client, f"* from [{scene.queue}]")) == 3
    client.unregister_queue_consumer(scene.queue, scene.consumer)
    client.remove(scene.home, recursive=True)


def check_envelope(answer: Answer, status: int, code: int, *culprits: str) -> None:
    """Body and headers say the same, and what it is about."""
    assert answer.status == status
    body = json.loads(answer.body)
    assert set(body) == {"code", "message", "attributes", "inner_errors"}
    assert json.loads(answer.headers[http.ERROR]) == body
    assert answer.headers[http.RESPONSE_CODE] == str(body["code"])
    assert "\n" not in answer.headers[http.RESPONSE_MESSAGE]
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.error
    assert answer.error.find(code), answer.body
    words = "; ".join(error.message for error in answer.error.walk())
    for culprit in culprits:
        assert culprit in words
