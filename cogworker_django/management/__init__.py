"""The management commands: the worker, its status, its queues, an embedded server."""
