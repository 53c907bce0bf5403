"""What a worker is to the system around it: signals, its title, its log, a service manager, questions about its health.

`commands` (what signals ask for), `condition` (how one process is), `board` (how all are, and the answers about it),
`metrics` (the same for Prometheus), `door` (answers over HTTP), `service` (systemd), `title` (what `ps` shows),
`streams` (the standard ones), `logs`.

May import: `core`. Knows neither Redis nor Django nor jobs: the parent of a swarm lives from this room alone.
"""
