"""A TCP proxy in front of the server, which can do to a connection what networks do."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any

CHUNK = 65_536


class Proxy:
    """Listens on a port of its own and passes bytes on, until it is told otherwise.

    Args:
        port: of the server, on 127.0.0.1.
    """

    def __init__(self, port: int) -> None:
        self.cuts = 0
        """How many connections were cut after a request, before its reply."""
        self.delay = 0.0
        """Seconds that every chunk takes, each way."""
        self._server_port = port
        self._armed = 0
        self._wires: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._open = asyncio.Event()
        self._open.set()
        self._listener = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = self._listener.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of database 0 through the proxy."""
        return f"redis://127.0.0.1:{self.port}/0"

    def cut(self) -> None:
        """Cut all connections that there are."""
        self._do(self._cut())

    def cut_after_request(self) -> None:
        """Cut the next connection on which the server replies: it has done what it was asked, nobody hears of it."""
        self._do(self._arm())

    def black_hole(self) -> None:
        """Swallow everything, in silence: nothing is closed, nothing arrives."""
        self._do(self._set_open(False))

    def pass_on(self) -> None:
        """Pass bytes on again, also those that were held up."""
        self._do(self._set_open(True))

    def close(self) -> None:
        """End everything."""
        self._do(self._shut())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, step: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(step, self._loop).result(10)

    async def _cut(self) -> None:
        for wire in list(self._wires):
            wire.transport.abort()

    async def _arm(self) -> None:
        self._armed += 1

    async def _set_open(self, is_open: bool) -> None:
        (self._open.set if is_open else self._open.clear)()

    async def _shut(self) -> None:
        self._listener.close()
        self._open.set()
        await self._cut()
        pumps = asyncio.all_tasks() - {asyncio.current_task()}
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
            self._wires |= {writer, far_writer}
            await asyncio.gather(
                self._pump(reader, far_writer, writer, False), self._pump(far_reader, writer, far_writer, True)
            )
            self._wires -= {writer, far_writer}
        writer.transport.abort()

    async def _pump(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, back: asyncio.StreamWriter, reply: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK):
                await self._open.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                if reply and self._armed:
                    self._armed -= 1
                    self.cuts += 1
                    break
                target.write(data)
                await target.drain()
        target.transport.abort()
        back.transport.abort()
