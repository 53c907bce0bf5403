"""Redis-backed jobs for Django."""
