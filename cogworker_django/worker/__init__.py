"""A worker process: it fetches, runs and settles jobs, and keeps the installation going.

A job's way: `exchange` (fetches and settles for all threads in one trip), `processor` (one thread), `runner` (one
run, to an outcome), `judge` (what becomes of a failure, as a settlement). Beside it: `keeper` (nothing lies about),
`listener` (the idle wait), `scheduler` (due entries to their queues), `upkeep` (once a minute the `rounds`:
`key_guard`, damaged keys out of the way; `rescuer`, dead processes' jobs back; `filer`, failures that others could not
file), `heartbeat` (presence, commands), `deaths` (death hooks). `launcher` boots and watches the commands, `closing` is
a process's end, `reporter` tells the parent of a swarm and others how the process is (`checkup`), `limits` when it is
to be replaced.

May import: `core`, `process`, `store`, `features`, `client`, `runtime`, `definition`. Knows neither `api` nor Django.
"""
