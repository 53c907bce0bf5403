"""The parent of several worker processes: it forks, watches, restarts and stops them, and never runs a job.

`supervisor` (the loop), `slot` (one place for a process, and the process in it), `rollout` (restarts one after the
other), `fork` (how a child comes to be), `ear` (signals), `reaper` (who has ended), `plan`.

May import: `core`, `process`. Knows neither Redis nor Django nor jobs: it owns no connection and no thread, so nothing
of it can be shared by mistake with those that it forks.
"""
