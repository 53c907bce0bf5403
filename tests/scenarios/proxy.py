"""A TCP proxy in front of the server, which can do to a connection what networks do."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

CHUNK = 65_536
Spoil = Callable[[bytes], bytes]
"""Makes of bytes what arrives of them."""


class Strike:
    """What happens to the next bytes that pass in one direction.

    Args:
        spoil: what arrives of them.
        cut: whether the connection ends with them.
    """

    def __init__(self, spoil: Spoil, *, cut: bool) -> None:
        self.spoil = spoil
        self.cut = cut


class Proxy:
    """Listens on a port of its own and passes bytes on, until it is told otherwise.

    Args:
        port: of the server, on 127.0.0.1.
    """

    def __init__(self, port: int) -> None:
        self.struck = 0
        """How many strikes have met something."""
        self.delay = 0.0
        """Seconds that whatever was read at once takes, each way."""
        self.rate = 0.0
        """Bytes a second that a connection passes on, each way; 0 for all that there are."""
        self.crumb = CHUNK
        """Bytes that arrive together."""
        self._server_port = port
        self._requests: deque[Strike] = deque()
        self._replies: deque[Strike] = deque()
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

    def cut_before_request(self) -> None:
        """Cut the next connection on which something is asked: the server never hears of it."""
        self._requests.append(Strike(lambda _: b"", cut=True))

    def cut_after_request(self) -> None:
        """Cut the next connection on which the server replies: it has done what it was asked, nobody hears of it."""
        self._replies.append(Strike(lambda _: b"", cut=True))

    def cut_in_reply(self) -> None:
        """Cut the next connection on which the server replies, in the middle of the reply."""
        self._replies.append(Strike(lambda reply: reply[: len(reply) // 2], cut=True))

    def corrupt_reply(self, spoil: Spoil) -> None:
        """Pass the next reply on as `spoil` makes it."""
        self._replies.append(Strike(spoil, cut=False))

    def lead_to(self, port: int) -> None:
        """Connect to another server from now on; connections that there are stay where they are."""
        self._server_port = port

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

    async def _set_open(self, is_open: bool) -> None:
        (self._open.set if is_open else self._open.clear)()

    async def _shut(self) -> None:
        self._listener.close()
        self._open.set()
        await self._cut()
        pumps = asyncio.all_tasks() - {asyncio.current_task()}
        # They end by themselves, but for those that hold something up.
        _, held_up = await asyncio.wait(pumps, timeout=1) if pumps else (None, set())
        for pump in held_up:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
            self._wires |= {writer, far_writer}
            await asyncio.gather(
                self._pump(reader, far_writer, writer, self._requests),
                self._pump(far_reader, writer, far_writer, self._replies),
            )
            self._wires -= {writer, far_writer}
        writer.transport.abort()

    async def _pump(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        back: asyncio.StreamWriter,
        strikes: deque[Strike],
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK):
                await self._open.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                strike = strikes.popleft() if strikes else None
                if strike:
                    self.struck += 1
                    data = strike.spoil(data)
                await self._pass(data, target)
                if strike and strike.cut:
                    break
        # What has arrived is to be read, and then the end: not the other way round.
        target.close()
        back.transport.abort()

    async def _pass(self, data: bytes, target: asyncio.StreamWriter) -> None:
        size = self.crumb
        for first in range(0, len(data), size):
            crumb = data[first : first + size]
            if self.rate:
                await asyncio.sleep(len(crumb) / self.rate)
            target.write(crumb)
            await target.drain()
