"""Reading and steering from outside a worker: what users' code, pages and commands look at (Contract 7).

`Stats`, `Queue`, `QueueSet`, `ScheduledSet`, `RetrySet`, `DeadSet`, `ProcessSet`, `WorkSet`, `Intake`,
`Throughput`, `attempts_of`: each takes the current runtime's store unless it is given another. Nothing here
reads a whole list or set at once, and nothing damaged in Redis breaks a loop or a number.

May import `core`, `store` and `runtime`; does not know `worker`.
"""
