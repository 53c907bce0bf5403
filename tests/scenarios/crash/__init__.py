"""Crash points: a process is ended, or an error put in its way, at every single command that it sends to Redis.

`python -m tests.scenarios.crash` tries them all and prints a table; see `points`.
"""
