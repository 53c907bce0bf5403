"""A TCP proxy that holds every chunk for a fixed time, to stand for a Redis that is not on this machine.

proxy LISTEN_PORT TARGET_PORT ROUND_TRIP_MS

Half of the round trip is added in each direction; throughput is not limited, so a pipeline pays it once.
One thread and select(), because its timeout has microseconds (epoll's has milliseconds).
"""

import collections
import ctypes
import select
import socket
import subprocess
import sys
import time
from typing import Self

from tests.bench.harness.places import ROOT

PR_SET_TIMERSLACK = 29


class Relay:
    """Pairs of sockets, and the chunks that wait for their time."""

    def __init__(self, listen_port: int, target_port: int, delay: float) -> None:
        self.listener = socket.create_server(("127.0.0.1", listen_port), backlog=128)
        self.target_port, self.delay = target_port, delay
        self.peers: dict[socket.socket, socket.socket] = {}
        self.held: collections.deque[tuple[float, socket.socket, bytes]] = collections.deque()

    def serve(self) -> None:
        while True:
            wait = max(0.0, self.held[0][0] - time.monotonic()) if self.held else None
            readable, _, _ = select.select([self.listener, *self.peers], [], [], wait)
            for sock in readable:
                if sock is self.listener:
                    self.accept()
                elif sock in self.peers:
                    self.receive(sock)
            self.send()

    def accept(self) -> None:
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.target_port))
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.peers[client], self.peers[server] = server, client

    def receive(self, sock: socket.socket) -> None:
        try:
            data = sock.recv(1 << 18)
        except OSError:
            data = b""
        if data:
            self.held.append((time.monotonic() + self.delay, self.peers[sock], data))
            return
        other = self.peers.pop(sock)
        self.peers.pop(other, None)
        sock.close()
        other.close()

    def send(self) -> None:
        while self.held and self.held[0][0] <= time.monotonic():
            _, sock, data = self.held.popleft()
            try:
                sock.sendall(data)
            except OSError:
                continue  # its other end has gone


class Proxy:
    """The proxy as a process, from construction to `close()`."""

    def __init__(self, listen_port: int, target_port: int, round_trip_ms: float) -> None:
        self.url = f"redis://127.0.0.1:{listen_port}/0"
        argv = [sys.executable, "-m", __name__, str(listen_port), str(target_port), str(round_trip_ms)]
        self.process = subprocess.Popen(argv, cwd=ROOT)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", listen_port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the proxy did not start")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.terminate()
        self.process.wait()


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)  # wake up on time
    Relay(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 2000).serve()


if __name__ == "__main__":
    main()
