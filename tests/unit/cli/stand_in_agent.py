"""An agent of which a test decides every word: names that no cluster would let it make, and silence."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class StandInAgent:
    """Serves documents by their paths, without queries; anything else is 404.

    Args:
        documents: may be changed while it serves.
    """

    def __init__(self, documents: dict[str, Any]) -> None:
        self.documents = documents
        self.is_silent = threading.Event()
        """While set, requests get no answer."""

        self.token = ""
        """Token that requests have to bring; empty: none."""

        agent = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if agent.is_silent.is_set():
                    agent._ended.wait()
                    return
                if agent.token and self.headers.get("Authorization") != f"OAuth {agent.token}":
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", "OAuth")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                document = agent.documents.get(urlsplit(self.path).path)
                body = json.dumps({"message": "no such object"} if document is None else document).encode()
                self.send_response(404 if document is None else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815 - the name the base class looks for

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as of the base class
                pass

        self._ended = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def running(self) -> Iterator[StandInAgent]:
        """Serve from a thread of its own."""
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def names_of_a_stage(queues: list[str], consumers: list[str]) -> dict[str, Any]:
    """Documents that list queues and consumers."""
    return {"/orchid/queue_agent/queues": queues, "/orchid/queue_agent/consumers": consumers}
