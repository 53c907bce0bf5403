"""What a Redis server has done so far."""

from typing import Any


def counters(server: Any) -> dict[str, float]:
    """Commands, reads from sockets, CPU seconds.

    Commands inside scripts count. A read is a round trip (a large pipeline can take a few). This call itself
    counts as one command and one read in the next.
    """
    info = server.info("all")
    return {
        "commands": sum(value["calls"] for key, value in info.items() if key.startswith("cmdstat_")),
        "reads": info["total_reads_processed"],
        "cpu": info["used_cpu_user"] + info["used_cpu_sys"],
    }
