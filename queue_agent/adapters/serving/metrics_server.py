"""Pages of metrics, made in a thread ahead of those who ask for them."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from aiohttp import hdrs, web
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST

from queue_agent.adapters.metrics.agent_metrics import Sight
from queue_agent.adapters.metrics.metrics import Metrics, Page
from queue_agent.config.serving import MetricsConfig

CLASSIC: Final = CONTENT_TYPE_PLAIN_0_0_4
OPEN: Final = CONTENT_TYPE_LATEST

_WANTED_SECONDS: Final = 120.0
"""Who has not asked for so long will have to wait until the page is made."""

_CHUNK: Final = 1 << 18
_GZIP: Final = 16 + zlib.MAX_WBITS
_OPEN_METRICS: Final = "application/openmetrics-text"


class _Variant(NamedTuple):
    page: Page
    compressed: bool


_Pages: TypeAlias = Mapping[_Variant, Sequence[bytes]]


class MetricsServer:
    """Answers scrapes from pages that are no older than twice the period.

    Args:
        metrics: what is served.
        config: tells the period.
    """

    def __init__(self, metrics: Metrics, config: MetricsConfig | None = None) -> None:
        self._metrics = metrics
        self._least_period = (config or MetricsConfig()).period
        self._spent = timedelta(0)
        self._wanted: dict[_Variant, float] = {}
        self._ready: _Pages = {}
        self._made_at = float("-inf")
        self._rendering: asyncio.Future[_Pages] | None = None

    @property
    def period(self) -> timedelta:
        """How often pages are made: where there are very many series, no more than a tenth of the time goes by it."""
        return max(self._least_period, 10 * self._spent)

    @property
    def is_wanted(self) -> bool:
        """Whether somebody has asked recently."""
        now = asyncio.get_running_loop().time()
        return any(now - asked <= _WANTED_SECONDS for asked in self._wanted.values())

    async def do_pass(self, pass_index: int) -> None:
        """Render again what somebody asked for recently."""
        await self._make()

    def routes(self) -> Sequence[web.RouteDef]:
        """Where scrapes are answered."""
        return web.get("/metrics", self.show_own), web.get("/solomon/all", self.show_all)

    async def show_own(self, request: web.Request) -> web.StreamResponse:
        """Our own metrics, in the format that is asked for."""
        content_type = choose_encoder(request.headers.get("Accept", ""))[1]
        if content_type.startswith(_OPEN_METRICS):
            return await self._show(request, Page.OWN_OPEN, OPEN)
        return await self._show(request, Page.OWN, CLASSIC)

    async def show_all(self, request: web.Request) -> web.StreamResponse:
        """Those with the names of the C++ agent as well, in the only format there is of them."""
        return await self._show(request, Page.ALL, CLASSIC)

    async def _show(self, request: web.Request, kind: Page, content_type: str) -> web.StreamResponse:
        compressed = "gzip" in request.headers.get("Accept-Encoding", "")
        page = await self._find(_Variant(kind, compressed))
        headers = {"Content-Type": content_type, "Vary": "Accept, Accept-Encoding"}
        if compressed:
            headers["Content-Encoding"] = "gzip"
        response = web.StreamResponse(headers=headers)
        response.content_length = sum(map(len, page))
        await response.prepare(request)
        if request.method == hdrs.METH_HEAD:  # a body would be taken for the next answer
            return response
        for piece in page:
            for start in range(0, len(piece), _CHUNK):
                await response.write(piece[start : start + _CHUNK])
        return response

    async def _find(self, variant: _Variant) -> Sequence[bytes]:
        now = asyncio.get_running_loop().time()
        self._wanted[variant] = now
        if variant not in self._ready or now - self._made_at > 2 * self.period.total_seconds():
            while variant not in self._ready or self._made_at < now:
                await self._make()
        return self._ready[variant]

    async def _make(self) -> None:
        """Make what is wanted, or wait for what is being made.

        Whoever stops waiting does not stop the work: there is never more than one at it, however many ask and leave.
        """
        if self._rendering is None:
            loop = asyncio.get_running_loop()
            now = loop.time()
            self._wanted = {variant: asked for variant, asked in self._wanted.items() if now - asked <= _WANTED_SECONDS}
            self._rendering = loop.run_in_executor(None, self._render, self._metrics.look(), tuple(self._wanted))
            self._rendering.add_done_callback(partial(self._rendered, now))
        rendering = self._rendering
        await asyncio.wait([rendering])
        rendering.result()

    def _rendered(self, started: float, rendering: asyncio.Future[_Pages]) -> None:
        self._rendering = None
        if not rendering.cancelled() and rendering.exception() is None:
            self._ready = rendering.result()
            self._made_at = started
            self._spent = timedelta(seconds=asyncio.get_running_loop().time() - started)

    def _render(self, sight: Sight, wanted: Collection[_Variant]) -> _Pages:
        pages = self._metrics.make_pages(sight, {variant.page for variant in wanted})
        return {variant: _pack(pages[variant.page], variant.compressed) for variant in wanted}


def _pack(page: Sequence[bytes], compressed: bool) -> Sequence[bytes]:
    if not compressed:
        return page
    # The library lets go of the interpreter meanwhile.
    compressor = zlib.compressobj(level=1, wbits=_GZIP)
    return [*(compressor.compress(piece) for piece in page), compressor.flush()]
