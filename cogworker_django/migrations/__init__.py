"""The migrations: no table, only permissions."""
